import type { Kind } from "./kinds.ts";

const INTERPRETERS: readonly (readonly [RegExp, Kind])[] = [
  [/^(?:ba|da|z|k|mk|pdk|a|c|tc|fi)?sh$|^busybox$/, "sh"],
  [/^(?:python|pypy|py\.test)/, "py"],
  [/^perl/, "perl"],
  [/^j?ruby/, "ruby"],
  [/^php/, "php"],
  [/^(?:node|nodejs|deno|bun|js|gjs)$/, "js"],
  [/^ts-node$/, "ts"],
  [/^lua/, "lua"],
  [/^[gmn]?awk$/, "awk"],
  [/^(?:tclsh|wish|expect)/, "tcl"],
  [/^(?:pwsh|powershell)$/, "ps1"],
  [/^make$/, "makefile"],
];

/** The language that a first line `#!` names. */
export function interpreterKind(start: string): Kind | undefined {
  const line = /^#![ \t]*([^\n\r]{1,200})/.exec(start)?.[1];
  if (line === undefined) return undefined;
  const words = line.split(/\s+/).filter((word) => !/^-|=/.test(word));
  const programs = words.map((word) => word.slice(word.lastIndexOf("/") + 1));
  const name = (programs[0] === "env" ? programs[1] : programs[0]) ?? "";
  return INTERPRETERS.find(([pattern]) => pattern.test(name))?.[1];
}

/**
 * Lines of programs: one that hardly any other text has, and some that are usual. The first language with a line of the
 * former wins, or the one with the most of the latter.
 */
const LANGUAGES: readonly (readonly [Kind, sure: RegExp, usual?: RegExp])[] = [
  ["vba", /^Attribute VB_|^VERSION \d\.\d+ CLASS/],
  [
    "bat",
    /^@?echo (?:off|on)$|^@?(?:set|end)local\b|^@rem\b|^@?if (?:not )?(?:exist|defined|errorlevel) |^@?set (?:\/[ap] )?"?\w+=[^=]*%|%~[dpnxfs]*\d|^@\S+ .*%[\d*]|^@?for \/[fdrl] /i,
    /^@?(?:rem|echo|copy|del|call|cd|start|xcopy|exit|pause|cls|md|goto|cmd|reg|taskkill|certutil)\b|^@?set \w+=|%\w+%|^:\w+$/i,
  ],
  [
    "ps1",
    /^\[CmdletBinding\(|^#Requires -|^\.SYNOPSIS$|^param\s*\((?:$|\[)|\bNew-Object\s|\[System\.\w|\$(?:env:|PSScriptRoot|ErrorActionPreference|PSCmdlet)|\b(?:powershell|pwsh)(?:\.exe)?"? .*-(?:e|enc|nop|w|exec|c|f)\w*\b|\bInvoke-Expression\b|\bIEX \(|^function \w+-\w+/i,
    /^(?:Get|Set|New|Remove|Invoke|Start|Stop|Write|Import|Export|Add|Out|Test|Install)-[A-Z]\w+ |^\$\w+\s*=| -(?:eq|ne|like|match|join) /,
  ],
  [
    "perl",
    /^use (?:strict|warnings|v?5[\d._]*|utf8|lib|vars|base|parent)\b.*;|^(?:my|our) [$@%(]|^package \w+(?:::\w+)*;$|^sub \w+ ?\{|^=(?:head\d|cut|pod)\b|^return <<'END';/,
    /=~ ?[ms]?\/|^\$\w+ = |@_|^\w+ +=> .*,$/,
  ],
  [
    "vbs",
    /^(?!.*\bnew ActiveX).*\bCreateObject ?\("|^Option Explicit$|^On Error Resume Next|^(?:Private |Public )?Sub \w+ ?(?:\(.*\))?$|^End (?:Sub|Function|If)$/i,
    /^(?:Dim|Set|Const|MsgBox|WScript)\b/i,
  ],
  [
    "sql",
    /^(?:CREATE|DROP|ALTER) (?:\w+ ){0,4}(?:TABLE|INDEX|VIEW|DATABASE|FUNCTION|TRIGGER|SCHEMA|TYPE|EXTENSION|ROLE|OPERATOR|DOMAIN|CAST|SEQUENCE|AGGREGATE|PROCEDURE|USER)\b|^INSERT INTO [\w."`]+|^SELECT .* FROM .*;$|^UPDATE \S+ SET |^DELETE FROM \w+|^(?:GRANT|REVOKE) [\w, ]+ ON /i,
    /^(?:SELECT|FROM|WHERE|PRAGMA|COMMIT|BEGIN)\b.*;?$/,
  ],
  ["dockerfile", /^FROM [\w./:@${}-]+ AS \w+$/, /^(?:FROM|RUN|COPY|ADD|CMD|ENTRYPOINT|ENV|WORKDIR|EXPOSE) \S/],
  [
    "py",
    /^(?:async )?def \w+\(.*(?::|,)$|^from +[\w.]+ import [\w*(]|^if __name__ ==|^class \w+(?:\([\w., =]*\))?:$|^# -\*- coding:|^# *vim:.*python|^(?:elif|except)\b.*:$/,
    /^import [\w., ]+(?:#.*)?$|^(?:if|for|while|try|else|with)\b.*:$|^print\b|^"""|^# coding:/,
  ],
  ["csharp", /^using (?:static )?[A-Z][\w.]*;$|^namespace [A-Z][\w.]*(?: ?\{)?$|^\[assembly: /],
  [
    "cpp",
    /^#\s*include\s*<(?:[a-z_]+|[\w/]+\.hpp)>|^using namespace \w|^template ?<|^namespace \w*\s*\{|^class \w+(?: final)? ?: ?(?:public|private) |^(?:public|private|protected):$/,
    /\bstd::\w/,
  ],
  [
    "c",
    /^#\s*include\s*["<][\w./+-]+[">]|^#(?:ifndef|ifdef|define|pragma|undef|endif|if defined|if !defined) ?\w*|^typedef (?:struct|enum|union|unsigned|int|void)\b|^(?:static|extern) (?:const |inline )?(?:unsigned |struct )?\w+[ *]+\w+ ?[([;=]/,
    /^(?:int|void|char|struct|double) \*?\w+ ?[({]/,
  ],
  [
    "java",
    /^package [a-z][\w.]*;$|^import (?:static )?[a-z]\w*(?:\.\w+)+(?:\.\*)?;$|^public (?:final |abstract )?(?:class|interface|enum) \w+/,
  ],
  ["go", /^package [a-z]\w*$|^func (?:\(\w+ \*?\w+\) )?\w+\(.*\{$/],
  ["rust", /^(?:pub )?fn \w+.*\{$|^use (?:std|crate|super)::|^impl\b.*\{$|^#!?\[\w+.*\]$|^let mut /],
  [
    "ruby",
    /^require(?:_relative)? ['"][^;]*$|^(?:class|module) [A-Z]\w*(?:::\w+)*(?: < [A-Z][\w:]*)?$|^def (?:self\.)?\w+[?!]?(?:\([^:]*\))?$|^attr_\w+ :|\bdo \|\w+/,
    /^end$|^puts /,
  ],
  ["tcl", /^package require \w|^proc \w+ \{|^namespace eval /],
  [
    "ts",
    /^(?:import|export) type |^export (?:declare |abstract )?(?:interface|enum|namespace|type) \w+|^declare (?:module|const|function|global) /,
    /^(?:readonly )?\w+\??: (?:string|number|boolean|void|unknown)\b.*[;,{]$/,
  ],
  [
    "js",
    /^["']use strict["']|^(?:var|let|const) [\w$]+ ?= ?(?:require\(|function|new |\{|\[)|^import .*["'];?$|^export (?:default|const|function|class|async)\b|^(?:async )?function\*? ?[\w$]*\([^)]*\) ?\{|^(?:module\.)?exports\b.*=|\bfunction ?\([\w$, ]*\) ?\{|\bnew ActiveXObject\(|\bdocument\.(?:write|createElement|getElement|location)|^\/\*\* @type|=> \{$/,
    /^(?:var|let|const)\s+[\w$]+ ?[=;,]|^[\w$.]+\.[\w$]+\(.*\);$|^\}\);?$|\b(?:eval|atob|unescape|setTimeout)\(/,
  ],
  ["lua", /^local function \w+|^local \w+ = require/, /^local \w+|\bthen$|^end[),;]*$|^function [\w.:]+\(.*\)$/],
  [
    "css",
    /^@(?:charset|import|media|font-face|keyframes)\b.*[;{]$|^[^'"]*\{\s*(?:color|background|margin|padding|font|display|width|height|border|position|text|float)[a-z-]*\s*:/i,
    /^(?:color|background|margin|padding|font|display|width|height|border|position|text|float|overflow|top|left)[a-z-]* ?: ?[^;{}]+;/,
  ],
  ["ps", /^\/[\w.]+ .*\bo?def$|^(?:systemdict|currentdict|currentglobal|userdict)\b|\bbind (?:executeonly )?o?def\b/],
  [
    "makefile",
    /^\.(?:PHONY|SUFFIXES):|^@?\$\([A-Z_]+\) |^-?include .*\.(?:mk|am|in)$/,
    /^(?:all|clean|install|check): ?/,
  ],
  [
    "sh",
    /^(?:if|elif|while) \[|^while read |^for \w+ in .*; ?do$|^case ["$].* in$|^(?:fi|esac|done)[;\s]*$|^\w+ ?\(\) ?\{$|^export \w+=|^set -[eux]+$|\|\s?(?:ba)?sh$/,
    /^(?:echo|cd|rm|mkdir|cp|mv|exit|source|sudo|apt-get|chmod|test|local|wget|curl)\b|^\w+=["$\w]|\$\{\w+/,
  ],
];

const LONGEST_LINE = 240;
const MOST_LINES = 200;
const FEWEST_USUAL = 2;
/** Of all lines: a text about programs has some, too. */
const LEAST_SHARE = 0.2;

/** The language a program is written in. */
export function sourceKind(start: string): Kind | undefined {
  const whole = start.split("\n", MOST_LINES);
  const lines = whole.map((line) => line.slice(0, LONGEST_LINE).trim()).filter((line) => line !== "");
  const sure = LANGUAGES.find(([, pattern]) => lines.some((line) => pattern.test(line)));
  if (sure) return sure[0];
  let best: { kind: Kind; count: number } | undefined;
  for (const [kind, , usual] of LANGUAGES) {
    const count = usual ? lines.filter((line) => usual.test(line)).length : 0;
    if (count >= Math.max(FEWEST_USUAL, LEAST_SHARE * lines.length) && count > (best?.count ?? 0))
      best = { kind, count };
  }
  return best?.kind;
}
