import { readFileSync } from "node:fs";
import { eicar } from "../support/eicar.ts";
import { checkRule } from "./check-rule.ts";

const clam = readFileSync("/usr/share/clamav-testfiles/clam.exe");
const gtube = ["XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE", "-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"];
const amsi = ["AMSI Test Sam", "ple: 7e72c3ce-861b-4339", "-8740-0ac1484c1386"];

checkRule("EICAR_Test_File", {
  matches: {
    "the test file": eicar(),
    "the test file with spaces behind it": Buffer.concat([eicar(), Buffer.from("  \r\n\x1a")]),
    "the test file inside something": Buffer.concat([Buffer.alloc(500), eicar(), Buffer.alloc(500)]),
  },
  misses: {
    "its name": ["This is the EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!"],
    "a broken one": eicar().subarray(0, 60),
    "one with another letter": Buffer.from(eicar().toString("latin1").replace("ANTIVIRUS", "ANTIVIRUZ"), "latin1"),
  },
});

checkRule("EICAR_Test_File_Base64", {
  matches: {
    "an attachment": [`Content-Transfer-Encoding: base64\n\n${eicar().toString("base64").slice(0, 76)}\nKg==\n`],
  },
  misses: {
    "something else in base64": [Buffer.from("X5O!P%@AP and so on, which is no test file at all").toString("base64")],
  },
});

checkRule("ClamAV_Test_File", {
  matches: { "clam.exe": clam, "clam.exe inside something": Buffer.concat([Buffer.alloc(99), clam]) },
  misses: { "a text about it": ["The section of clam.exe is called [CLAMAV], and it shows a message box."] },
});

checkRule("GTUBE_Test_Mail", {
  matches: { "a mail": ["Subject: Test spam mail (GTUBE)\n\n", ...gtube, "\n"] },
  misses: { "its name": ["The GTUBE", "-STANDARD-ANTI-UBE-TEST-EMAIL is a mail that filters must catch."] },
});

checkRule("AMSI_Test_Sample", {
  matches: {
    "the text": ["powershell 'echo ", ...amsi, "'"],
    "the text as Windows saves it": Buffer.from(amsi.join(""), "utf16le"),
  },
  misses: { "another identifier": ["AMSI Test Sam", "ple: 00000000-861b-4339", "-8740-0ac1484c1386"] },
});
