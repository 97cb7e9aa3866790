/* PowerShell that fetches code and runs it, in a way that nobody is meant to see. */

rule PowerShell_Hidden_Download_And_Run
{
    meta:
        author = "Lazaret"
        description = "PowerShell in a hidden window that runs what it downloads"
    strings:
        $hidden = /\b(powershell|pwsh)(\.exe)?["']?\s[^\r\n]{0,120}-(w|win|windowstyle)\s{1,4}["']?(hidden|1)\b/ nocase ascii wide
        $run = /\b(iex|invoke-expression)\b/ nocase ascii wide
        $download = /\b(downloadstring|downloaddata|invoke-webrequest|invoke-restmethod|iwr|irm)\b[^\r\n]{0,40}https?:/ nocase ascii wide
    condition:
        filesize < 4MB and all of them
}

rule PowerShell_Downloads_Program
{
    meta:
        author = "Lazaret"
        description = "PowerShell that saves a program in a temporary folder and starts it, without a window or a policy"
    strings:
        $quiet = /\s-(w|win|windowstyle)\s{1,4}["']?hidden\b|\s-(ep|exec|executionpolicy)\s{1,4}["']?bypass\b/ nocase ascii wide
        $download = /\b(downloadfile|invoke-webrequest|iwr|start-bitstransfer)\b[^\r\n]{0,300}(\$env:(temp|tmp|appdata|localappdata|public)|%temp%|%appdata%|%public%)[^\r\n]{0,80}\.(exe|scr|dll|ps1|bat|cmd|vbs|js)\b/ nocase ascii wide
        $start = /\b(start-process|saps|invoke-item|rundll32|regsvr32)\s[^\r\n]{0,60}(\$env:(temp|tmp|appdata|localappdata|public)|%temp%|%appdata%|%public%|\$\w)/ nocase ascii wide
    condition:
        filesize < 4MB and all of them
}

rule PowerShell_Encoded_Download
{
    meta:
        author = "Lazaret"
        description = "PowerShell started with an encoded command, in which there is a download"
    strings:
        $encoded = /\b(powershell|pwsh)(\.exe)?["']?\s[^\r\n]{0,160}-e(nc|c|ncodedcommand|n)?\s{1,4}["']?[A-Za-z0-9+\/]{40}/ nocase ascii wide
        $a = "DownloadString" wide base64
        $b = "DownloadFile" wide base64
        $c = "DownloadData" wide base64
        $d = "Net.WebClient" wide base64
        $e = "Invoke-WebRequest" wide base64
        $f = "FromBase64String" wide base64
    condition:
        filesize < 4MB and $encoded and any of ($a, $b, $c, $d, $e, $f)
}

rule PowerShell_Disables_Scanner
{
    meta:
        author = "Lazaret"
        description = "PowerShell that switches off the interface by which scanners see scripts"
    strings:
        // Not spelt out, so that no scanner takes this file for what it describes.
        $class = /Automation\.[A]msiUtils/ nocase ascii wide
        $field = /[a]msi(InitFailed|Context|Session)/ nocase ascii wide
        $set = ".SetValue(" nocase ascii wide
    condition:
        filesize < 4MB and all of them
}

rule PowerShell_Runs_Shellcode
{
    meta:
        author = "Lazaret"
        description = "A script that copies bytes into executable memory and starts a thread there"
    strings:
        $import = /DllImport|GetDelegateForFunctionPointer|Add-Type/ nocase ascii wide
        $alloc = /\bVirtual(Alloc|Protect)\b/ nocase ascii wide
        $copy = /Marshal\]?(::|\.)Copy/ nocase ascii wide
        $thread = /\bCreate(Remote)?Thread\b/ nocase ascii wide
        $bytes = /\[byte\[\]\]|FromBase64String/ nocase ascii wide
    condition:
        filesize < 4MB and all of them
}
