/* Pages that carry a program or an archive in them and let the browser save it, past filters that look at downloads. */

rule HTML_Smuggling_Base64
{
    meta:
        author = "Lazaret"
        description = "A page that assembles a download from a program, archive or disc image in base64"
    strings:
        $decode = /\batob\s{0,4}\(|base64/ nocase
        $blob = /new\s{1,4}Blob\s{0,4}\(/
        $save = /createObjectURL|msSaveOrOpenBlob|msSaveBlob/
        $name = /\.download\s{0,4}=|setAttribute\s{0,4}\(\s{0,4}["']download|msSave/
        // MZ, PK, Rar!, 7z, a compound file, a shortcut.
        $payload = /["'`](TV[opqr][A-Za-z0-9+\/]|UEsDB|UmFyIR|N3q8ry|0M8R4K|TAAAAAEU)[A-Za-z0-9+\/]{200}/
    condition:
        all of them
}

rule HTML_Smuggling_Bytes
{
    meta:
        author = "Lazaret"
        description = "A page that assembles a download from a program or archive written as numbers"
    strings:
        $blob = /new\s{1,4}Blob\s{0,4}\(/
        $save = /createObjectURL|msSaveOrOpenBlob|msSaveBlob/
        $name = /\.download\s{0,4}=|setAttribute\s{0,4}\(\s{0,4}["']download|msSave/
        $program = /\[\s{0,4}(77\s{0,2},\s{0,2}90\s{0,2},\s{0,2}(80|144)|0x4d\s{0,2},\s{0,2}0x5a\s{0,2},\s{0,2}0x[59]0)\s{0,2},/ nocase
        $archive = /\[\s{0,4}(80\s{0,2},\s{0,2}75\s{0,2},\s{0,2}3\s{0,2},\s{0,2}4|0x50\s{0,2},\s{0,2}0x4b\s{0,2},\s{0,2}0x0?3\s{0,2},\s{0,2}0x0?4)\s{0,2},/ nocase
    condition:
        $blob and $save and $name and any of ($program, $archive)
}
