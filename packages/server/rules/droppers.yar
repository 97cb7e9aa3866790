/* Scripts that fetch a program, run it and cover it up. */

rule Shell_Downloads_Runs_Deletes
{
    meta:
        author = "Lazaret"
        description = "A shell command that downloads a program, makes it executable, runs it and deletes it"
    strings:
        $chain = /\b(wget|curl|tftp|ftpget)\s[^\n]{4,240}(;|&&)\s{0,4}([^\n;&]{1,100}(;|&&)\s{0,4}){0,2}chmod\s{1,4}(\+x|a\+x|u\+x|0?[75][0-7]{2})\s[^\n;&]{1,120}(;|&&)\s{0,4}(nohup\s{1,4}|sh\s{1,4}|bash\s{1,4})?(\.\/|\/tmp\/|\/var\/tmp\/|\/dev\/shm\/)[^\n;&]{1,120}(;|&&|&)\s{0,4}([^\n;&]{1,60}(;|&&)\s{0,4}){0,2}rm\s{1,4}-/
    condition:
        filesize < 4MB and $chain
}

rule Shell_Botnet_Loader
{
    meta:
        author = "Lazaret"
        description = "A shell script that tries one folder after the other and loads programs for several processors"
    strings:
        $folders = /cd\s{1,2}\/tmp\s{0,2}\|\|\s{0,2}cd\s{1,2}\/(var|mnt|root|dev|run)/
        $download = /\b(wget|curl|tftp|ftpget)\s[^\n]{1,160}\b(mips|mipsel|mpsl|arm[4-7]?|sh4|ppc|m68k|sparc|x86)\b/
        $chmod = /chmod\s{1,4}(\+x|0?7[0-7]{2})/
    condition:
        filesize < 1MB and all of them
}

rule Shell_Scheduled_Download
{
    meta:
        author = "Lazaret"
        description = "An entry for cron that downloads a script again and again and runs it"
    strings:
        $entry = /(\*|\*\/[0-9]{1,2}|@reboot)(\s{1,4}[\*0-9\/,]{1,8}){0,4}\s{1,4}(root\s{1,4})?[^\n]{0,40}\b(curl|wget)\s[^\n|]{1,200}\|\s{0,4}(\/bin\/)?(ba|da)?sh\b/
    condition:
        filesize < 4MB and $entry
}

rule Shell_Runs_Encoded
{
    meta:
        author = "Lazaret"
        description = "A shell command that decodes a long literal and runs it"
    strings:
        $run = /\becho\s{1,4}(-n\s{1,4})?["']?[A-Za-z0-9+\/=]{80,4000}["']?\s{0,4}\|\s{0,4}base64\s{1,4}(-d|-D|--decode|-di)\s{0,4}\|\s{0,4}(sudo\s{1,4})?(\/bin\/)?(ba|da|z)?sh\b/
    condition:
        filesize < 4MB and $run
}

rule Reverse_Shell
{
    meta:
        author = "Lazaret"
        description = "A command that connects a shell to somebody else's machine"
    strings:
        $bash = /\b(ba|z|da)?sh\s{1,4}-i\s{0,4}(>&|&>|<>|>)\s{0,4}\/dev\/tcp\/[A-Za-z0-9.\-]{3,64}\/[0-9]{1,5}/
        $descriptor = /exec\s{1,4}[0-9]{1,3}<>\s{0,2}\/dev\/tcp\/[^\n]{1,80};\s{0,4}(cat|sh|bash)\s{0,4}<&\s{0,2}[0-9]{1,3}/
        $pipe = /mkfifo\s{1,4}[^\n;]{1,60};\s{0,4}cat\s[^\n|]{1,60}\|\s{0,4}(\/bin\/)?(ba)?sh\s{1,4}-i[^\n|]{0,40}\|\s{0,4}(nc|ncat|openssl)\s/
        $python_socket = /socket\.socket\s{0,4}\(/
        $python_descriptor = /os\.dup2\s{0,4}\(\s{0,4}\w{1,16}\.fileno\s{0,4}\(\s{0,4}\)\s{0,4},\s{0,4}[012]\s{0,4}\)/
        $python_shell = /(\/bin\/(ba|z|da)?sh|pty\.spawn)/
    condition:
        filesize < 4MB and (any of ($bash, $descriptor, $pipe) or all of ($python_*))
}

rule Script_Host_Dropper
{
    meta:
        author = "Lazaret"
        description = "A script for Windows that downloads a file, saves it and runs it"
    strings:
        $http = /msxml2\.(server)?xmlhttp|microsoft\.xmlhttp|winhttp\.winhttprequest/ nocase ascii wide
        $stream = "adodb.stream" nocase ascii wide
        $save = "savetofile" nocase ascii wide
        $run = /wscript\.shell|shell\.application|shellexecute|win32_process/ nocase ascii wide
    condition:
        filesize < 4MB and all of them
}

rule Windows_Tool_Downloads_And_Runs
{
    meta:
        author = "Lazaret"
        description = "A command line that makes a tool of Windows download a program, and starts it"
    strings:
        $certutil = /\bcertutil(\.exe)?\s[^\r\n]{0,60}[\-\/]urlcache\s[^\r\n]{0,40}https?:[^\r\n]{1,300}(&|;|\n|\|)\s{0,4}(start\s|cmd\s|call\s|rundll32\s|regsvr32\s|"?%|\.\\|[a-z]:\\)/ nocase ascii wide
        $bitsadmin = /\bbitsadmin(\.exe)?\s[^\r\n]{0,60}\/transfer\s[^\r\n]{0,80}https?:[^\r\n]{1,300}(&|;|\n|\|)\s{0,4}(start\s|cmd\s|call\s|rundll32\s|regsvr32\s|"?%|\.\\|[a-z]:\\)/ nocase ascii wide
        $mshta = /\bmshta(\.exe)?["']?\s{1,4}["']?(https?:\/\/[^\s"']{4,200}\.(hta|sct|html?|php|jpg|png|txt)\b|(vbscript|javascript):[^\r\n]{0,120}(createobject|getobject|eval)\s{0,2}\()/ nocase ascii wide
        $regsvr32 = /\bregsvr32(\.exe)?\s[^\r\n]{0,60}\/i:\s{0,2}https?:[^\r\n]{1,200}scrobj/ nocase ascii wide
    condition:
        filesize < 4MB and any of them
}

rule Shortcut_Runs_Script
{
    meta:
        author = "Lazaret"
        description = "A Windows shortcut that starts a command interpreter out of sight or to download something"
    strings:
        $shortcut = { 4C 00 00 00 01 14 02 00 00 00 00 00 C0 00 00 00 00 00 00 46 }
        $interpreter = /(powershell|mshta|cmd\.exe|wscript|cscript)/ nocase ascii wide
        $hidden = /-w(indowstyle|in)?\s{1,4}(hidden|1)\b|-e(nc|ncodedcommand)?\s{1,4}[A-Za-z0-9+\/]{40}|https?:\/\// nocase ascii wide
    condition:
        $shortcut at 0 and $interpreter and $hidden
}
