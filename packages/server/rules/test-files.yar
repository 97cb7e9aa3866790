/* Files that the industry uses to see whether a scanner works. None of them does any harm. */

rule EICAR_Test_File
{
    meta:
        author = "Lazaret"
        description = "The EICAR antivirus test file, alone or inside anything"
    strings:
        // In hexadecimal and in short lines, so that this file is not one, not even to who decodes it.
        // suppress: text_as_hex
        $eicar = {
            58 35 4F 21 50 25 40 41 50 5B 34 5C 50 5A 58 35 // and
            34 28 50 5E 29 37 43 43 29 37 7D 24 45 49 43 41 // and
            52 2D 53 54 41 4E 44 41 52 44 2D 41 4E 54 49 56 // and
            49 52 55 53 2D 54 45 53 54 2D 46 49 4C 45 21 24 // and
            48 2B 48 2A
        }
    condition:
        $eicar
}

rule EICAR_Test_File_Base64
{
    meta:
        author = "Lazaret"
        description = "The EICAR antivirus test file as an attachment of a mail, or otherwise in base64"
    strings:
        // The first 45 bytes of the test file; mail programs break the line somewhere behind.
        // suppress: text_as_hex
        $start = {
            57 44 56 50 49 56 41 6C 51 45 46 51 57 7A 52 63 // and
            55 46 70 59 4E 54 51 6F 55 46 34 70 4E 30 4E 44 // and
            4B 54 64 39 4A 45 56 4A 51 30 46 53 4C 56 4E 55 // and
            51 55 35 45 51 56 4A 45 4C 55 46 4F
        }
    condition:
        $start
}

rule ClamAV_Test_File
{
    meta:
        author = "Lazaret"
        description = "The program clam.exe, which ClamAV's test files contain in every packing"
    strings:
        $code = { BB 71 10 40 00 33 C0 50 50 8B F3 53 53 50 B0 29 40 30 04 66 AC 79 F9 }
        $section = "[CLAMAV]"
    condition:
        all of them
}

rule GTUBE_Test_Mail
{
    meta:
        author = "Lazaret"
        description = "The generic test for unsolicited bulk email, which mail filters must catch"
    strings:
        // suppress: text_as_hex
        $gtube = {
            58 4A 53 2A 43 34 4A 44 42 51 41 44 4E 31 2E 4E // and
            53 42 4E 33 2A 32 49 44 4E 45 4E 2A 47 54 55 42 // and
            45 2D 53 54 41 4E 44 41 52 44 2D 41 4E 54 49 2D // and
            55 42 45 2D 54 45 53 54 2D 45 4D 41 49 4C 2A 43 // and
            2E 33 34 58
        }
    condition:
        $gtube
}

rule AMSI_Test_Sample
{
    meta:
        author = "Lazaret"
        description = "Microsoft's test string for scanners of scripts"
    strings:
        $sample = /AMSI Test Sample: [7]e72c3ce-861b-4339-8740-0ac1484c1386/ ascii wide
    condition:
        $sample
}
