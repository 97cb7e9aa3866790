import type { Kind } from "../kinds.ts";

/**
 * A sign that a program is written in some language, and how much it tells; each sign counts once.
 * A sign of a line is tried where a line starts with one of `words` (lower case, see firstWord); one of the text where
 * any of `literals` occurs. So a text in which none of these occur costs no more than looking the words up.
 */
export type Sign = LineSign | TextSign;

export interface LineSign {
  words: string;
  pattern: RegExp;
  worth: number;
}

export interface TextSign {
  literals: readonly string[];
  pattern?: RegExp;
  worth: number;
}

function line(worth: number, words: string, pattern: RegExp): Sign {
  return { words, pattern, worth };
}

function text(worth: number, literals: readonly string[], pattern?: RegExp): Sign {
  return pattern ? { literals, pattern, worth } : { literals, worth };
}

const VERBS =
  "Get|Set|New|Remove|Invoke|Start|Stop|Write|Import|Export|Add|Out|Test|Install|Enable|Disable|Select|Where";
const POWERSHELL = /\bNew-Object\b|\[(?:System|Convert|Net)[.\]]|\bIEX\b|\bInvoke-[A-Z]/i;
const STYLES = "color|background|margin|padding|font|display|width|height|border|position|text-|float|overflow|opacity";

/** The languages and their signs. Where two fit equally well, the first. */
export const LANGUAGES: readonly (readonly [Kind, readonly Sign[]])[] = [
  ["vba", [line(3, "attribute version", /^Attribute VB_|^VERSION \d\.\d+ CLASS/)]],
  [
    "bat",
    [
      line(3, "@echo echo", /^@?echo off$/i),
      line(1, "rem @rem setlocal @setlocal endlocal pushd popd", /^/),
      line(1, "set @set", /^@?set (?:\/[ap] )?"?\w+=/i),
      line(2, "if @if", /^@?if (?:\/i )?(?:not )?(?:exist |defined |errorlevel |"?%)/i),
      line(2, "goto for", /^goto :?\w+$|^for (?:\/\w )?.*%%\w in/i),
      line(1, "cmd cmd.exe start del xcopy taskkill schtasks certutil bitsadmin reg", /^[\w.]+ [/-]/i),
      text(1, ["%"], /%~?[dpnx]*\d|%\w+%/),
    ],
  ],
  [
    "ps1",
    [
      line(3, "[cmdletbinding #requires .synopsis", /^\[CmdletBinding\(|^#Requires -|^\.SYNOPSIS$/i),
      line(2, "param", /^param\s*\(/i),
      line(1, "$", /^\$[\w:.]+\s*=\s*(?!>)/),
      line(2, "verb-noun", new RegExp(`^(?:${VERBS})-[A-Z]\\w+`, "i")),
      text(2, ["$env:", "$Env:", "$ENV:", "$PSScriptRoot", "$ErrorActionPreference", "$null", "$true"]),
      text(2, ["New-Object", "new-object", "[System.", "[Convert]", "[Net.", "IEX", "iex", "Invoke-"], POWERSHELL),
      text(2, ["powershell", "pwsh"], /\b(?:powershell|pwsh)(?:\.exe)?"? [^\n]{0,100}-(?:e|enc|nop|w|exec|c|f)\w*\b/i),
      text(1, [" -eq ", " -ne ", " -like ", " -match ", " -join ", " -replace "]),
    ],
  ],
  [
    "vbs",
    [
      text(2, ["CreateObject", "createobject", "GetObject"], /(?:Create|Get)Object\s*\(\s*"/i),
      line(2, "option on", /^Option Explicit|^On Error (?:Resume|GoTo)/i),
      line(1, "dim redim const set", /^(?:Dim|ReDim|Const) \w+|^Set \w+ ?= ?/i),
      line(
        1,
        "end private public sub function",
        /^End (?:Sub|Function|If|With)$|^(?:\w+ )?(?:Sub|Function) \w+ ?(?:\(|$)/i,
      ),
      line(1, "wscript execute executeglobal msgbox", /^/),
    ],
  ],
  [
    "dockerfile",
    [
      line(2, "from", /^FROM [\w./:@${}-]+(?: AS \w+)?$/),
      line(1, "run copy add cmd entrypoint env workdir expose", /^[A-Z]+ \S/),
    ],
  ],
  [
    "sql",
    [
      line(
        2,
        "create drop alter",
        /^(?:CREATE|DROP|ALTER) (?:\w+ ){0,3}(?:TABLE|INDEX|VIEW|DATABASE|FUNCTION|TRIGGER)\b/i,
      ),
      line(
        2,
        "insert select update delete",
        /^INSERT INTO |^SELECT\b.*(?:\bFROM\b|;$)|^UPDATE \S+ SET\b|^DELETE FROM\b/i,
      ),
      text(1, [";\n", ";\r"]),
    ],
  ],
  [
    "cpp",
    [
      line(3, "#include", /^#\s*include\s*<[a-z_]+>/),
      line(
        2,
        "using namespace template class",
        /^using namespace|^namespace \w+|^template\s*<|^class \w+\s*(?:[:{]|$)/,
      ),
      text(2, ["std::"]),
      line(1, "public private protected", /^(?:public|private|protected):$/),
    ],
  ],
  [
    "c",
    [
      line(4, "#include", /^#\s*include\s*[<"][\w./+-]+\.(?:h|hh|hpp|inc|c)[>"]/),
      line(
        2,
        "#define #ifdef #ifndef #if #pragma",
        /^#\s*(?:define \w+|ifn?def \w+|if (?:defined|[\d!(A-Z_])|pragma \w+)/,
      ),
      line(1, "static extern const unsigned int void char struct long size_t typedef", /^[\w *]+[({;]/),
      text(1, ["/*"]),
    ],
  ],
  [
    "csharp",
    [
      line(2, "using", /^using (?:static )?[A-Z][\w.]*;$/),
      line(1, "namespace", /^namespace [\w.]+\s*[;{]?$/),
      line(
        1,
        "public internal private",
        /^\w+ (?:static |sealed |partial |abstract )*(?:class|void|string|int|interface)\b/,
      ),
    ],
  ],
  [
    "java",
    [
      line(2, "package", /^package [a-z][\w.]*;$/),
      line(2, "import", /^import (?:static )?[a-z][\w.]*\.[\w.*]+;$/),
      line(1, "public private protected class final", /^(?:\w+ ){0,3}(?:class|interface|enum|void|String|int) \w+/),
      text(2, ["public static void main(String"]),
    ],
  ],
  ["go", [line(2, "package", /^package \w+$/), line(2, "import func", /^import (?:\(|")|^func (?:\([^)]*\) )?\w+\(/)]],
  [
    "rust",
    [
      line(2, "fn pub", /^(?:pub )?fn \w+\s*(?:<[^>]*>)?\(/),
      line(2, "use impl let mod extern", /^use (?:std|crate|super)::|^impl\b.*\{$|^let mut |^mod \w+;$|^extern crate/),
      text(2, ["#[derive", "println!("]),
    ],
  ],
  [
    "perl",
    [
      line(3, "use", /^use (?:strict|warnings|v?5|utf8|lib|vars|base|parent)\b/),
      line(2, "my our", /^(?:my|our) [$@%(]/),
      line(1, "sub package", /^sub \w+\s*\{?|^package [\w:]+;/),
      text(1, ["=~", "@_", "=cut"]),
    ],
  ],
  [
    "py",
    [
      line(2, "def async", /^(?:async )?def \w+\(.*/),
      line(2, "import", /^import [\w., ]+(?:#.*)?$/),
      line(2, "from", /^from [\w.]+ import [\w*(][^;"']*$/),
      line(2, "class if", /^class \w+(?:\(.*\))?:$|^if __name__ == /),
      line(1, "elif except try else with for while print return", /^(?:\w+\b.*):$|^print\(|^return .*[^;]$/),
      line(2, "#", /^# -\*- coding: /),
      text(1, ['"""', "self.", "sys.", "os."]),
      text(1, ["__name__", "__file__", "__all__", "__init__"]),
    ],
  ],
  [
    "ruby",
    [
      line(2, "require require_relative", /^require(?:_relative)? ['"]/),
      line(1, "def class module", /^def [\w.?!]+(?:\(.*\))?$|^(?:class|module) [A-Z]\w*(?: <.*)?$/),
      line(1, "end", /^end$/),
      text(1, [" do |"]),
    ],
  ],
  [
    "lua",
    [
      line(1, "local", /^local (?:function )?\w+/),
      line(1, "function if elseif", /\)$|\bthen$/),
      line(1, "end", /^end[),;]*$/),
    ],
  ],
  [
    "ts",
    [
      line(
        2,
        "interface export type declare",
        /^(?:export )?(?:interface \w+.*\{|type \w+.* =|declare (?:module|const|function|global) )/,
      ),
      line(3, "import export", /^(?:import|export) type /),
      text(
        2,
        [": string", ": number", ": boolean", ": void", ": unknown", ": Promise<"],
        /[\w)\]?]: (?:string|number|boolean|void|unknown|Promise<)/,
      ),
    ],
  ],
  [
    "js",
    [
      text(3, ["use strict"], /^\s*["']use strict["']/m),
      line(
        2,
        "import export module exports",
        /^import .*["']|^export (?:default|const|function|class|\{|\*)|^(?:module\.)?exports\b.*=/,
      ),
      line(2, "function async class", /^(?:async )?function\b[^(]{0,60}\(.*\{|^class \w+(?: extends [\w.]+)? ?\{/),
      line(2, "var const let", /^(?:var|const)\s+(?:[\w$]+\s*[=;,]|[{[])|^let\s+[\w$]+\s*=.*;$/),
      text(2, ["function(", "function ("], /\bfunction ?\([\w$, ]*\) ?\{/),
      text(1, ["=>", "document.", "window.", "console.", "JSON.", "Math."]),
      text(1, ["eval(", "require(", "atob(", "unescape(", "fromCharCode", "parseInt(", "setTimeout("]),
      text(2, ["ActiveXObject", "XMLHttpRequest", "WScript."]),
    ],
  ],
  [
    "css",
    [
      line(2, "@charset @import @media @font-face @keyframes", /^/),
      text(3, [": ", ":#"], new RegExp(`[\\w\\]"*)-]\\s{0,4}\\{\\s{0,20}(?:${STYLES})[a-z-]{0,20}\\s{0,4}:`, "i")),
    ],
  ],
  [
    "makefile",
    [
      line(3, ".phony .suffixes", /^\.[A-Z]+:/),
      text(2, ["\n\t"], /^[\w./%$() -]{1,80}:(?!=)[^\n]*\n\t\S/m),
      text(1, ["$(", "$@", "$<"], /\$\([A-Z_]+\)|\$[@<]/),
    ],
  ],
  [
    "sh",
    [
      line(2, "if while for case function", /^if \[|^while (?:\[|read)|^for \w+ in |^case .* in$|^function \w+\s*\{/),
      line(2, "fi done esac", /^\w+[;\s]*$/),
      line(
        1,
        "export set source sudo apt apt-get wget curl chmod rm mkdir cd exec",
        /^(?:export \w+=|set -|\w+(?:-get)? [\w./~$"-])/,
      ),
      text(1, ["$"], /\$\{?\w+\}?|\$\(/),
      text(1, ["|sh", "| sh", "| bash", "|bash"], /\|\s?(?:ba)?sh\b/),
    ],
  ],
];
