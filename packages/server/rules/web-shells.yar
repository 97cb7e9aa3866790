/* Pages that run on a web server whatever a visitor sends them. */

rule PHP_Webshell_Runs_Request
{
    meta:
        author = "Lazaret"
        description = "PHP that hands a value of the request to eval or to the shell"
    strings:
        $php = "<?"
        $run = /\b(eval|assert|system|passthru|shell_exec|exec|popen|proc_open|pcntl_exec)\s{0,8}\(\s{0,8}@?((base64_decode|gzinflate|gzuncompress|str_rot13|strrev|urldecode|rawurldecode|hex2bin|stripslashes|trim)\s{0,4}\(\s{0,4}@?){0,4}\$_(GET|POST|REQUEST|COOKIE)\s{0,4}[\[{]/ nocase
        $backtick = /`\s{0,8}\{?\$_(GET|POST|REQUEST|COOKIE)\s{0,4}\[/ nocase
        $called = /\$_(GET|POST|REQUEST|COOKIE)\s{0,4}\[[^\]]{1,40}\]\s{0,4}\(\s{0,4}@?\$_(GET|POST|REQUEST|COOKIE)\s{0,4}\[/ nocase
    condition:
        $php and any of ($run, $backtick, $called)
}

rule PHP_Webshell_Runs_Input
{
    meta:
        author = "Lazaret"
        description = "PHP that hands the body of the request, or one of its headers, to eval or to the shell"
    strings:
        $php = "<?"
        $run = /\b(eval|assert|system|passthru|shell_exec|exec|popen|proc_open)\s{0,8}\(\s{0,8}@?((base64_decode|gzinflate|gzuncompress|str_rot13|strrev|urldecode|hex2bin|trim)\s{0,4}\(\s{0,4}@?){0,4}(file_get_contents\s{0,4}\(\s{0,4}['"]php:\/\/input|\$_SERVER\s{0,4}\[\s{0,4}['"]HTTP_)/ nocase
    condition:
        all of them
}

rule PHP_Packed_Code
{
    meta:
        author = "Lazaret"
        description = "PHP that unpacks a long literal and runs it at once"
    strings:
        $php = "<?"
        $run = /\b(eval|assert)\s{0,8}\(\s{0,8}@?((base64_decode|gzinflate|gzuncompress|gzdecode|str_rot13|strrev|convert_uudecode|hex2bin)\s{0,4}\(\s{0,4}@?){2,6}['"][A-Za-z0-9+\/=_\-]{64}/ nocase
    condition:
        all of them
}

rule JSP_Webshell_Runs_Request
{
    meta:
        author = "Lazaret"
        description = "A JSP page that runs a parameter of the request as a program"
    strings:
        $page = "<%"
        $parameter = /request\s{0,4}\.\s{0,4}getParameter\s{0,4}\(/
        $exec = /getRuntime\s{0,4}\(\s{0,4}\)\s{0,4}\.\s{0,4}exec\s{0,4}\(/
        $builder = /new\s{1,4}(java\.lang\.)?ProcessBuilder\s{0,4}\(/
    condition:
        filesize < 200KB and $page and $parameter and any of ($exec, $builder)
}

rule JSP_Webshell_Loads_Class
{
    meta:
        author = "Lazaret"
        description = "A JSP page that decrypts a class from the request and loads it"
    strings:
        $page = "<%"
        $define = "defineClass"
        $cipher = /Cipher\s{0,4}\.\s{0,4}getInstance\s{0,4}\(\s{0,4}"AES/
        $body = /request\s{0,4}\.\s{0,4}(getReader|getParameter|getInputStream)\s{0,4}\(/
    condition:
        filesize < 200KB and all of them
}

rule ASP_Webshell_Runs_Request
{
    meta:
        author = "Lazaret"
        description = "An ASP or ASP.NET page that evaluates a value of the request"
    strings:
        $page = /<%|<script[^>]{1,80}runat\s{0,4}=/ nocase
        $run = /\b(eval|execute|executeglobal)\s{0,4}[\( ]\s{0,4}(unescape\s{0,4}\(\s{0,4})?request(\.(item|form|querystring|params))?\s{0,4}[\(\[]/ nocase
    condition:
        filesize < 200KB and all of them
}

rule ASPX_Webshell_Starts_Process
{
    meta:
        author = "Lazaret"
        description = "An ASP.NET page that starts the command interpreter with a value of the request"
    strings:
        $page = /<%@\s{0,4}(page|webhandler|webservice)\s/ nocase
        $process = /\b(ProcessStartInfo|Process\.Start)\b/ nocase
        $interpreter = /\b(cmd|powershell)(\.exe)?["' ]/ nocase
        $request = /\bRequest\s{0,4}(\.\s{0,4}(Form|QueryString|Params|Headers|Item)\s{0,4})?[\[\(]/ nocase
    condition:
        filesize < 200KB and all of them
}
