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

interface Language {
  kind: Kind;
  /** How lines begin that hardly any other text has. */
  sure?: RegExp;
  /** What stands somewhere in programs, and hardly anywhere else. */
  inside?: RegExp;
  /** How lines begin that other texts have, too. */
  usual?: RegExp;
}

/** What gives programs away. The first language that is sure wins, or the one with the most usual lines. */
const LANGUAGES: readonly Language[] = [
  { kind: "vba", sure: /Attribute VB_|VERSION \d\.\d+ CLASS/ },
  {
    kind: "bat",
    sure: /@?echo (?:off|on)$|@?(?:set|end)local(?: (?:en|dis)able|$)|@rem\b|@?if (?:not )?(?:exist|defined|errorlevel) [^$@]|@?set (?:\/[ap] )?"?\w+=[^=]*%|@?for \/[fdrl] |@\w+ [^=].*%[1-9*](?:\s|$)/i,
    inside: /%~[dpnxfs]{0,6}\d/,
    usual: /@?(?:rem|copy|del|xcopy|rmdir|cls|goto|cmd|reg|taskkill|certutil) |@echo |@?set \w+=|%\w+%/i,
  },
  {
    kind: "ps1",
    sure: /\[CmdletBinding\(|#Requires -|\.SYNOPSIS$|param\s*\((?:$|\[)|function \w+-\w+|\$ErrorActionPreference/i,
    inside:
      /\bNew-Object\s|\[System\.\w|\$(?:env:\w|PSScriptRoot|PSCmdlet)|\b(?:powershell|pwsh)(?:\.exe)?"? [^\n]{0,100}-(?:e|enc|nop|w|exec|c|f)\w*\b|\bInvoke-Expression\b|\bIEX \(/i,
    usual: /(?:Get|Set|New|Remove|Invoke|Start|Stop|Write|Import|Export|Add|Out|Test|Install)-[A-Z]\w+ |\$\w+\s*=/,
  },
  {
    kind: "perl",
    sure: /use (?:strict|warnings|v?5[\d._]*|utf8|lib|vars|base|parent)\b.*;|(?:my|our) [$@%(]|package \w+(?:::\w+)*;$|sub \w+ ?\{|=(?:head\d|cut|pod)\b|return <<'END';/,
    usual: /\$\w+ = |\$\w+ =~|\w+ +=> .*,$/,
  },
  {
    kind: "vbs",
    sure: /Option Explicit$|On Error Resume Next|(?:Private |Public )?Sub \w+ ?(?:\(.*\))?$|End (?:Sub|Function|If)$|Set \w+ ?= ?(?:WScript\.)?CreateObject/i,
    usual: /(?:Dim|Set|Const|MsgBox) [\w"]|WScript\./i,
  },
  {
    kind: "sql",
    sure: /(?:CREATE|DROP|ALTER) (?:\w+ ){0,4}(?:TABLE|INDEX|VIEW|DATABASE|FUNCTION|TRIGGER|SCHEMA|TYPE|EXTENSION|ROLE|OPERATOR|DOMAIN|CAST|SEQUENCE|AGGREGATE|PROCEDURE|USER)\b|INSERT INTO [\w."`]+|SELECT .* FROM .*;$|UPDATE \S+ SET |DELETE FROM \w+|(?:GRANT|REVOKE) [\w, ]+ ON /i,
    usual: /(?:SELECT|FROM|WHERE|PRAGMA|COMMIT|BEGIN)\b.*;$/,
  },
  {
    kind: "dockerfile",
    sure: /FROM [\w./:@${}-]+ AS \w+$/,
    usual: /(?:FROM|RUN|COPY|ADD|CMD|ENTRYPOINT|ENV|WORKDIR|EXPOSE) \S/,
  },
  {
    kind: "py",
    sure: /(?:async )?def \w+\(.*(?::|,)$|from +[\w.]+ import [\w*(]|if __name__ ==|class \w+(?:\([\w., =]*\))?:$|# -\*- coding:|# *vim:.*python|(?:elif|except)\b.*:$/,
    usual: /import [\w., ]+(?:#.*)?$|(?:if|for|while|try|else|with)\b.*:$|print\b|"""|# coding:/,
  },
  { kind: "csharp", sure: /using (?:static )?[A-Z][\w.]*;$|namespace [A-Z][\w.]*(?: ?\{)?$|\[assembly: / },
  {
    kind: "cpp",
    sure: /#\s*include\s*<(?:[a-z_]+|[\w/]+\.hpp)>|using namespace \w|template ?<|namespace \w*\s*\{|class \w+(?: final)? ?: ?(?:public|private) |(?:public|private|protected):$/,
    usual: /.*\bstd::\w/,
  },
  {
    kind: "c",
    sure: /#\s*include\s*["<][\w./+-]+[">]|#(?:ifndef|ifdef|define|pragma|undef|endif|if defined|if !defined) ?\w*|typedef (?:struct|enum|union|unsigned|int|void)\b|(?:static|extern) (?:const |inline )?(?:unsigned |struct )?\w+[ *]+\w+ ?[([;=]/,
    usual: /(?:int|void|char|struct|double) \*?\w+ ?[({]/,
  },
  {
    kind: "java",
    sure: /package [a-z][\w.]*;$|import (?:static )?[a-z]\w*(?:\.\w+)+(?:\.\*)?;$|public (?:final |abstract )?(?:class|interface|enum) \w+/,
  },
  { kind: "go", sure: /package [a-z]\w*$|func (?:\(\w+ \*?\w+\) )?\w+\(.*\{$/ },
  { kind: "rust", sure: /(?:pub )?fn \w+.*\{$|use (?:std|crate|super)::|impl\b.*\{$|#!?\[\w+.*\]$|let mut / },
  {
    kind: "ruby",
    sure: /require(?:_relative)? ['"][^;]*$|(?:class|module) [A-Z]\w*(?:::\w+)*(?: < [A-Z][\w:]*)?$|def (?:self\.)?\w+[?!]?(?:\([^:]*\))?$|attr_\w+ :/,
    inside: /\bdo \|\w+/,
    usual: /end$|puts /,
  },
  { kind: "tcl", sure: /package require \w|proc \w+ \{|namespace eval / },
  {
    kind: "ts",
    sure: /(?:import|export) type |export (?:declare |abstract )?(?:interface|enum|namespace|type) \w+|declare (?:module|const|function|global) /,
    usual: /(?:readonly )?\w+\??: (?:string|number|boolean|void|unknown)\b.*[;,{]$/,
  },
  {
    kind: "js",
    sure: /["']use strict["']|(?:var|let|const) [\w$]+ ?= ?(?:require\(|function|new |\{|\[)|import .*["'];?$|export (?:default|const|function|class|async)\b|(?:async )?function\*? ?[\w$]*\([^)]*\) ?\{|(?:module\.)?exports\b.*=/,
    inside:
      /\bfunction ?\([\w$, ]{0,60}\) ?\{|\bnew ActiveXObject\(|\bdocument\.(?:write|createElement|getElement|location)|=> \{\n/,
    usual: /(?:var|let|const)\s+[\w$]+ ?[=;,]|[\w$.]+\.[\w$]+\(.*\);$|\}\);?$|(?:eval|atob|unescape|setTimeout)\(/,
  },
  {
    kind: "lua",
    sure: /local function \w+|local \w+ = require/,
    usual: /local \w+|.*\bthen$|end[),;]*$|function [\w.:]+\(.*\)$/,
  },
  {
    kind: "css",
    sure: /@(?:charset|import|media|font-face|keyframes)\b.*[;{]$|[^'"]*\{\s*(?:color|background|margin|padding|font|display|width|height|border|position|text|float)[a-z-]*\s*:/i,
    usual:
      /(?:color|background|margin|padding|font|display|width|height|border|position|text|float|overflow|top|left)[a-z-]* ?: ?[^;{}]+;/,
  },
  {
    kind: "ps",
    sure: /\/[\w.]+ .*\bo?def$|(?:systemdict|currentdict|currentglobal|userdict)\b/,
    inside: /\bbind (?:executeonly )?o?def\b/,
  },
  {
    kind: "makefile",
    sure: /\.(?:PHONY|SUFFIXES):|@?\$\([A-Z_]+\) |-?include .*\.(?:mk|am|in)$/,
    usual: /(?:all|clean|install|check): ?/,
  },
  {
    kind: "sh",
    sure: /(?:if|elif|while) \[|while read |for \w+ in .*; ?do$|case ["$].* in$|(?:fi|esac|done)[;\s]*$|\w+ ?\(\) ?\{$|export \w+=|set -[eux]+$/,
    inside: /\|\s?(?:ba)?sh\n/,
    usual: /(?:echo|cd|rm|mkdir|cp|mv|exit|source|sudo|apt-get|chmod|test|local|wget|curl)\b|\w+=["$\w]/,
  },
];

const SURE = oneOf("sure", "^");
const INSIDE = oneOf("inside", "");
const USUAL = oneOf("usual", "^");
const LONGEST_LINE = 240;
const MOST_LINES = 100;
const SEARCHED_CHARACTERS = 1024;
const FEWEST_USUAL = 2;
/** Of all lines: a text about programs has some, too. */
const LEAST_SHARE = 0.2;

/** One pattern for all languages, with a group for each: trying them one by one costs ten times as much. */
function oneOf(mark: "sure" | "inside" | "usual", before: string): RegExp {
  const ways = LANGUAGES.map((language) => {
    const pattern = language[mark];
    if (!pattern) return "((?!))";
    return `(${pattern.ignoreCase ? `(?i:${pattern.source})` : pattern.source})`;
  });
  return new RegExp(`${before}(?:${ways.join("|")})`);
}

/** The place of the language whose group matched, behind all of them if none did. */
function placeOf(pattern: RegExp, text: string): number {
  const groups = pattern.exec(text);
  return groups ? groups.findIndex((group, place) => place > 0 && group !== undefined) - 1 : LANGUAGES.length;
}

/** The language a program is written in. */
export function sourceKind(start: string): Kind | undefined {
  const whole = start.split("\n", MOST_LINES);
  const lines = whole.map((line) => line.slice(0, LONGEST_LINE).trim()).filter((line) => line !== "");
  const sure = Math.min(
    placeOf(INSIDE, start.slice(0, SEARCHED_CHARACTERS)),
    ...lines.map((line) => placeOf(SURE, line)),
  );
  if (LANGUAGES[sure]) return LANGUAGES[sure].kind;
  const places = lines.map((line) => placeOf(USUAL, line));
  const counts = LANGUAGES.map((_, place) => places.filter((each) => each === place).length);
  const most = Math.max(...counts);
  return most >= Math.max(FEWEST_USUAL, LEAST_SHARE * lines.length) ? LANGUAGES[counts.indexOf(most)]?.kind : undefined;
}
