import { checkRule } from "./check-rule.ts";

checkRule("PHP_Webshell_Runs_Request", {
  matches: {
    "one line": ["<?php ev", "al($_PO", "ST['x']); ?>"],
    "the short tag": ["<?= sys", "tem($_GE", "T['cmd']) ?>"],
    "a silenced one": ["GIF89a <?php @ev", "al(@$_REQ", 'UEST["z"]);'],
    "a decoded one": ["<?php as", "sert(base64", "_decode($_COO", "KIE['k']));"],
    backticks: ["<?php echo `$_GE", "T[c]`;"],
    "a function named by the request": ["<?php $_GE", "T['f']($_PO", "ST['a']);"],
  },
  misses: {
    "a page that shows a value": ["<?php echo htmlspecialchars($_GET['name']); system('uptime'); ?>"],
    "a form handler": ["<?php $cmd = $_POST['cmd']; if (in_array($cmd, ['start', 'stop'])) run($cmd); exec('sync');"],
    "a text about it": ["Never write eval of a value from $_GET in PHP."],
    "a function with a similar name": ["<?php curl_exec($ch); medieval($_GE", "T['x']); "],
  },
});

checkRule("PHP_Webshell_Runs_Input", {
  matches: {
    "the body": ["<?php ev", "al(file_get", "_contents('php://in", "put'));"],
    "a header": ["<?php sys", "tem(base64", "_decode($_SER", "VER['HTTP_X_CMD']));"],
  },
  misses: {
    "a handler of JSON": ["<?php $data = json_decode(file_get_contents('php://input'), true); eval('1;');"],
    "a page that shows a header": ["<?php echo $_SERVER['HTTP_HOST']; passthru('date');"],
  },
});

const packed = "7b0HYBxJliUmL23Ke39K9UrX4HShCIBgEyTYkEAQ7MGIzeaS7B1pRyMpqyqBymVWZV1mFkDM7Z28995777333nvvvfe6";

checkRule("PHP_Packed_Code", {
  matches: {
    "two layers": ["<?php ev", "al(gzin", "flate(base64", `_decode('${packed}')));`],
    "three layers": ["<?php @ev", "al(str_", "rot13(gzun", "compress(base64", `_decode("${packed}"))));`],
  },
  misses: {
    "a literal that is only decoded": [`<?php $logo = gzinflate(base64_decode('${packed}')); echo $logo;`],
    "a short one": ["<?php ev", "al(gzin", "flate(base64", "_decode('c29tZXRoaW5n')));"],
  },
});

checkRule("JSP_Webshell_Runs_Request", {
  matches: {
    "one statement": ["<% Runtime.getRun", "time().exec(request.getPara", 'meter("cmd")); %>'],
    "several statements": [
      '<%@ page import="java.io.*" %>\n<% String c = request.getPara',
      'meter("c"); Process p = new ProcessBui',
      'lder("sh", "-c", c).start(); %>',
    ],
  },
  misses: {
    "an ordinary page": ["<% String name = request.getPara", 'meter("name"); out.print(escape(name)); %>'],
    "a program": [
      "class A { void run() { Runtime.getRun",
      'time().exec("date"); log(request.getPara',
      'meter("a")); } }',
    ],
  },
});

checkRule("JSP_Webshell_Loads_Class", {
  matches: {
    "a loader": [
      "<%! class U extends ClassLoader { Class g(byte[] b) { return super.define",
      "Class(b, 0, b.length); } } %><% Cipher c = Cipher.getIn",
      'stance("AES"); new U().g(c.doFinal(decode(request.getRea',
      "der().readLine()))); %>",
    ],
  },
  misses: {
    "a page that decrypts a cookie": [
      "<% Cipher c = Cipher.getIn",
      'stance("AES/GCM/NoPadding"); String s = request.getPara',
      'meter("s"); %>',
    ],
  },
});

checkRule("ASP_Webshell_Runs_Request", {
  matches: {
    "classic ASP": ["<%ev", 'al request("pass")%>'],
    executed: ["<% exe", 'cute(request("a")) %>'],
    JScript: ['<%@ Page Language="Jscript"%><%ev', 'al(Request.Item["z"],"unsafe");%>'],
    "a script block": [
      '<script language="JScript" run',
      'at="server">function Page_Load(){ev',
      "al(Request.Form['p']);}</script>",
    ],
  },
  misses: {
    "an ordinary page": ['<% Response.Write(Server.HtmlEncode(Request("name"))) %>'],
    "data binding": ['<%# Eval("Name") %> <%= Request("page") %>'],
    "a script in the browser": ["<script>eval(requestText)</script> <%= title %>"],
  },
});

checkRule("ASPX_Webshell_Starts_Process", {
  matches: {
    "a page": [
      '<%@ Page Language="C#" %><% var p = new ProcessSta',
      'rtInfo("cmd.exe", "/c " + Request.Form["c"]); %>',
    ],
    "a handler": [
      '<%@ WebHandler Language="C#" Class="H" %> Process.Sta',
      'rt("powershell.exe", context.Request["q"]);',
    ],
  },
  misses: {
    "a page that converts": [
      '<%@ Page Language="C#" %><% Process.Sta',
      'rt("convert.exe", Sanitize(Request.Form["name"])); %>',
    ],
    "a page about it": ['<%@ Page Language="C#" %> <p>Open cmd.exe and look at the Request page</p>'],
  },
});
