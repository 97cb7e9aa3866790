/*
 * Macros that start by themselves. What the rules see is the source, as unpacked from the document; it always begins
 * with the attributes of its module.
 */

rule Office_Macro_Downloads_And_Runs
{
    meta:
        author = "Lazaret"
        description = "A macro that starts with the document, downloads something and runs it"
    strings:
        $source = "Attribute VB_"
        $start = /\b(auto_?open|auto_?exec|auto_?close|document_?open|document_?close|document_new|workbook_open|workbook_activate|workbook_beforeclose)\s{0,4}\(/ nocase
        $download = /urldownloadtofile|msxml2\.(server)?xmlhttp|microsoft\.xmlhttp|winhttp\.winhttprequest|internetreadfile|net\.webclient|bitsadmin|certutil[^\n]{0,40}urlcache/ nocase
        $run = /\bshell[\( ]|wscript\.shell|shell\.application|shellexecute|win32_process|createprocess/ nocase
    condition:
        filesize < 4MB and all of them
}

rule Office_Macro_Runs_PowerShell
{
    meta:
        author = "Lazaret"
        description = "A macro that starts with the document and runs PowerShell out of sight"
    strings:
        $source = "Attribute VB_"
        $start = /\b(auto_?open|auto_?exec|auto_?close|document_?open|document_?close|document_new|workbook_open|workbook_activate|workbook_beforeclose)\s{0,4}\(/ nocase
        $powershell = "powershell" nocase
        $hidden = /-w(indowstyle)?\s{1,4}(hidden|1\b)|-e(nc|c|ncodedcommand)?\s{1,4}["A-Za-z0-9+\/]{16}|vbhide/ nocase
        $run = /\bshell[\( ]|wscript\.shell|shell\.application|shellexecute|win32_process/ nocase
    condition:
        filesize < 4MB and all of them
}

rule Office_Field_Runs_Command
{
    meta:
        author = "Lazaret"
        description = "A field of a document that starts a command interpreter (DDE)"
    strings:
        $field = "instrText"
        $command = /\bDDE(AUTO)?\s[^<]{0,60}\b(cmd|powershell|mshta|rundll32|wscript|cscript)(\.exe)?\b/ nocase
    condition:
        all of them
}
