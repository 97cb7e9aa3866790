import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eicar } from "../../../test/support/eicar.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { openContainer } from "../../../test/support/open-container.ts";
import { fileBlob, memoryBlob } from "../blob.ts";
import { encodedRuns } from "./encoded-runs.ts";

/** The same in every run: a run of noise with hardly an escape in it is no string of escapes. */
let seed = 0;
function randomBytes(length: number): Buffer {
  seed += 1;
  return createHash("shake128", { outputLength: length }).update(`noise ${seed}`).digest();
}

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");
const wrapped = (text: string, width: number, glue = "\n"): string =>
  Array.from({ length: Math.ceil(text.length / width) }, (_, line) =>
    text.slice(line * width, (line + 1) * width),
  ).join(glue);
const base64 = (content: Buffer): string => content.toString("base64");
const hex = (content: Buffer): string => content.toString("hex");
const each = (content: Buffer, write: (digits: string) => string, glue = ""): string =>
  [...content].map((byte) => write(byte.toString(16).padStart(2, "0"))).join(glue);

function uu(content: Buffer): string {
  const letter = (six: number): string => String.fromCharCode((six || 64) + 32);
  return Array.from({ length: Math.ceil(content.length / 45) }, (_, index) => {
    const line = content.subarray(index * 45, index * 45 + 45);
    let text = letter(line.length);
    for (let at = 0; at < line.length; at += 3) {
      const bits = ((line[at] ?? 0) << 16) | ((line[at + 1] ?? 0) << 8) | (line[at + 2] ?? 0);
      text += [18, 12, 6, 0].map((shift) => letter((bits >> shift) & 63)).join("");
    }
    return `${text}\n`;
  }).join("");
}

function yenc(content: Buffer): string {
  return [...content]
    .map((byte) => (byte + 42) & 255)
    .map((byte) =>
      [0, 10, 13, 61].includes(byte) ? `=${String.fromCharCode((byte + 64) & 255)}` : String.fromCharCode(byte),
    )
    .join("");
}

function ascii85(content: Buffer): string {
  let text = "";
  for (let at = 0; at < content.length; at += 4) {
    const four = content.subarray(at, at + 4);
    let value = [0, 1, 2, 3].reduce((sum, index) => sum * 256 + (four[index] ?? 0), 0);
    let digits = "";
    for (let digit = 0; digit < 5; digit += 1) {
      digits = String.fromCharCode(33 + (value % 85)) + digits;
      value = Math.floor(value / 85);
    }
    text += four.length === 4 && digits === "!!!!!" ? "z" : digits.slice(0, four.length + 1);
  }
  return text;
}

const WAYS: Readonly<Record<string, (content: Buffer) => string>> = {
  "base64 on one line": base64,
  "base64 on many lines": (content) => wrapped(base64(content), 76, "\r\n"),
  "base64 for addresses": (content) => `https://example.com/?file=${content.toString("base64url")}&x=1`,
  "a data URL": (content) => `<img src="data:image/png;base64,${base64(content)}">`,
  "base64 behind a line that does not belong to it": (content) => `Attachment\n${wrapped(base64(content), 60)}\nend`,
  "base64 behind a long line that does not belong to it": (content) =>
    `${"YWJj1xQ".repeat(12)}\n${wrapped(base64(content), 60)}`,
  "a line that is folded behind a name, with a word below": (content) =>
    `BEGIN:VCARD\r\n${wrapped(`PHOTO;ENCODING=b:${base64(content)}`, 74, "\r\n ")}\r\nEND:VCARD\r\n`,
  "lines of one length, with a word below": (content) =>
    `cat <<EOF\n${wrapped(base64(content), base64(content).length / 4)}\nEOF\n`.replace("\n\n", "\n"),
  "strings joined by +": (content) => `var s="${wrapped(base64(content), 40, '" +\n   "')}";`,
  "short strings joined by +": (content) => `var s='${wrapped(base64(content), 5, "'+'")}';`,
  "strings that Visual Basic joins": (content) => `s = "${wrapped(base64(content), 50, '" & _\r\n  "')}"\r\n`,
  "strings that are appended line by line": (content) => `s = "${wrapped(base64(content), 50, '"\r\ns = s & "')}"\r\n`,
  "strings that PHP joins": (content) => `$s = '${wrapped(base64(content), 50, "' . '")}';`,
  "strings of an array": (content) => `["${wrapped(base64(content), 50, '",\n "')}"].join("")`,
  "adjacent strings": (content) => `s = (b'${wrapped(base64(content), 50, "'\n     b'")}')`,
  "a continued line": (content) => `s="${wrapped(base64(content), 50, "\\\n")}"`,
  "line breaks in words": (content) => `{"a":"${wrapped(base64(content), 50, "\\n")}"}`,
  "escaped slashes": (content) => `{"a":"${base64(content).replaceAll("/", "\\/")}"}`,
  "escaped signs of an address": (content) => `x=${encodeURIComponent(base64(content))}`,
  "lines of a batch file": (content) => `echo ${wrapped(base64(content), 60, ">>a.b64\r\necho ")}>>a.b64\r\n`,
  "a comment": (content) => `# ${wrapped(base64(content), 60, "\n# ")}\n`,
  "a certificate": (content) => `-----BEGIN X-----\n${wrapped(base64(content), 64)}\n-----END X-----`,
  "hexadecimal digits": (content) => `SELECT 0x${hex(content)};`,
  "lines of digits": (content) => wrapped(hex(content).toUpperCase(), 64),
  "digits with blanks": (content) => each(content, (digits) => digits, " "),
  "digits of an array": (content) => `{${[...content].map((byte) => `0x${byte.toString(16)}`).join(", ")}}`,
  "digits of strings that are joined": (content) => `"${wrapped(hex(content), 33, '" + "')}"`,
  "escapes by \\x": (content) => `"${each(content, (digits) => `\\x${digits}`)}"`,
  "escapes by \\u": (content) => `"${each(content, (digits) => `\\u00${digits}`)}"`,
  "escapes by %": (content) => `unescape("${escape(content.toString("latin1"))}")`,
  "escapes by &#": (content) => `<p>${[...content].map((byte) => `&#${byte};`).join("")}</p>`,
  "quoted-printable": (content) =>
    wrapped(
      each(content, (digits) => `=${digits.toUpperCase()}`),
      75,
      "=\r\n",
    ),
  UU: (content) => `begin 644 x\n${uu(content)}\`\nend\n`,
  "UU without its first line": (content) => `hello\n${uu(content)}\n`,
  yEnc: (content) => `=ybegin line=128 size=1 name=x\r\n${yenc(content)}\r\n=yend size=1\r\n`,
  ASCII85: (content) => `<~${wrapped(ascii85(content), 70)}~>`,
  "ASCII85 as in a PDF": (content) => `stream\n${ascii85(content)}~>\nendstream`,
};

const PAYLOADS: Readonly<Record<string, Buffer>> = {
  EICAR: eicar(),
  "60 bytes of noise": randomBytes(60),
  "60 bytes that begin with signs": Buffer.concat([Buffer.from([0xfb, 0xff, 0xff, 0xff]), randomBytes(56)]),
  "a program": Buffer.concat([latin1("MZ\x90"), Buffer.alloc(50), randomBytes(200_000), Buffer.alloc(300)]),
};

describe("a file in letters", () => {
  for (const [way, write] of Object.entries(WAYS)) {
    test(`comes out of ${way}, in a text and in between other bytes`, async () => {
      for (const [name, content] of Object.entries(PAYLOADS)) {
        const frames: [string, string][] = [
          ["", ""],
          ["Some words come first:\nfoo(1);\n", '\nand more words, bar = "x";\n'],
          [`${randomBytes(3001).toString("latin1")}\0`, `\0${randomBytes(2000).toString("latin1")}`],
        ];
        for (const [before, after] of way === "quoted-printable" ? frames.slice(0, 1) : frames) {
          const file = latin1(before + write(content) + after);
          const opened = await openContainer(encodedRuns, file);
          assert.equal(opened?.outcome, "opened", name);
          assert.ok(
            opened?.members.some((member) => member.content.equals(content)),
            `${name} behind ${before.length}`,
          );
          // Several readings of one run, but never one for each line.
          assert.ok((opened?.members.length ?? 0) < 12, `${opened?.members.length} members`);
        }
      }
    });
  }

  test("of two bytes a letter is text of one byte a letter", async () => {
    const text = `The file:\r\n${wrapped(base64(randomBytes(300)), 76)}\r\n`;
    const little = Buffer.from(text, "utf16le");
    const marked = Buffer.from(`\ufeff${text}`, "utf16le");
    for (const file of [little, marked, Buffer.from(marked).swap16()]) {
      const opened = await openContainer(encodedRuns, file);
      assert.deepEqual(
        opened?.members.map(({ content }) => content.toString()),
        [text],
      );
    }
  });

  test("is a guess where the text cuts it off, and a part where a longer reading begins as it does", async () => {
    const letters = base64(randomBytes(300));
    const cut = [
      `\`${letters}...\``,
      `${letters.slice(0, 200)} \u2026`,
      `a = "${letters}" + b;`,
      `\`${letters.slice(0, 99)}\${b}\``,
    ];
    for (const text of cut) {
      const opened = await openContainer(encodedRuns, Buffer.from(text));
      assert.ok(opened?.members.length && opened.members.every(({ leftover }) => leftover), text);
    }
    const whole = [letters, `a = "${letters}";`, `<a>${letters}</a>`, `a: ${letters}, b`, `${letters}\n\nRegards`];
    for (const text of whole) {
      const opened = await openContainer(encodedRuns, Buffer.from(text));
      assert.ok(opened?.members.length && opened.members.some(({ leftover }) => !leftover), text);
    }
    const uneven = `${wrapped(letters.slice(0, 180), 70)}\n${wrapped(letters.slice(180), 70)}\n`;
    const opened = await openContainer(encodedRuns, Buffer.from(uneven));
    const [part] = opened?.members ?? [];
    assert.equal(part?.isPart, true);
    assert.deepEqual(
      opened?.members
        .filter(({ isPart }) => !isPart)
        .map(({ name }) => name)
        .sort(),
      ["base64 at 0", "base64 at 183"],
    );
  });

  test("is found in a file on disk that is larger than what is read at once", () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "text");
    const content = randomBytes(1_500_000);
    const text = `${"A line of words.\n".repeat(40_000)}${wrapped(base64(content), 76)}\n${"More words.\n".repeat(40_000)}`;
    writeFileSync(path, text);
    const descriptor = openSync(path, "r");
    try {
      const blob = fileBlob(descriptor, 0, text.length);
      assert.equal(encodedRuns.find(blob).length, 1);
      const members: Buffer[][] = [];
      const sink = {
        folder() {},
        begin: () => void members.push([]),
        write: (bytes: Uint8Array) => void members.at(-1)?.push(Buffer.from(bytes)),
        end() {},
      };
      const budget = { addMember() {}, addBytes() {}, addWork() {}, check() {} };
      encodedRuns.open(blob, { sink, budget } as never);
      assert.ok(members.some((pieces) => Buffer.concat(pieces).equals(content)));
      assert.ok(members.flat().every((piece) => piece.length <= 64 * 1024));
    } finally {
      closeSync(descriptor);
    }
  });
});

describe("a string of a script", () => {
  test("means what its short escapes mean, and nothing else", async () => {
    const rest = "\\x80".repeat(60);
    const means: [string, string][] = [
      [String.raw`x\x9c\t\n\r\\\'\"\/`, "x\x9c\t\n\r\\'\"/"],
      [String.raw`\x01\b\f\v\a`, "\x01\b\f\v\x07"],
      [String.raw`\x01\0\1a\12\0019`, "\x01\0\x01a\n\x019"],
      [String.raw`\x01%41&#65;`, "\x01%41&#65;"],
      ["\\x01\\\nb", "\x01b"],
    ];
    for (const [written, meant] of means) {
      const opened = await openContainer(encodedRuns, latin1(`a = \`${written}${rest}\``));
      const decoded = opened?.members.find(({ name }) => name.startsWith("escaped"));
      assert.equal(decoded?.content.toString("latin1"), meant + "\x80".repeat(60), written);
    }
  });

  test("is as literal as before where the escapes are those of an address", async () => {
    const opened = await openContainer(encodedRuns, latin1(`unescape("${"%41".repeat(60)}\\n%42")`));
    assert.equal(opened?.members[0]?.content.toString("latin1"), `${"A".repeat(60)}\\nB`);
  });
});

describe("a text without files", () => {
  test("holds no run", () => {
    const texts = [
      "The quick brown fox jumps over the lazy dog. ".repeat(100),
      'import { readFile } from "node:fs/promises";\nexport const someVeryLongIdentifierOfAFunction = 12;\n'.repeat(50),
      "/usr/share/doc/packages/something/very/long/indeed/that/goes/on/and/on/for/ever\n".repeat(50),
      "ACGTACGTTTGACCAGTACCCAGTTTGACA\n".repeat(100),
      "apple\nbanana\ncherry\ndamson\nelderberry\n".repeat(100),
      '<p style="width=20">a b</p>\n'.repeat(100),
    ];
    for (const text of texts) assert.deepEqual(encodedRuns.find(memoryBlob(Buffer.from(text))), [], text.slice(0, 40));
    assert.deepEqual(encodedRuns.find(memoryBlob(randomBytes(200_000))), []);
  });

  test("the integrity values of a lock file are one member", async () => {
    const entry = (): string =>
      `"node_modules/a": {\n "integrity": "sha512-${base64(randomBytes(64))}",\n "dev": true\n},\n`;
    const opened = await openContainer(encodedRuns, latin1(Array.from({ length: 3000 }, entry).join("")));
    assert.deepEqual(
      opened?.members.map(({ name }) => name),
      ["digests"],
    );
  });

  test("short values that CryptoJS encrypted are one member, and not by themselves", async () => {
    const value = (length: number): Buffer => Buffer.concat([latin1("Salted__"), randomBytes(length)]);
    const page = `{"a": "${base64(value(88))}", "b": "${base64(value(3000))}"}`;
    const [values, ...others] = (await openContainer(encodedRuns, latin1(page)))?.members ?? [];
    assert.deepEqual(others, []);
    assert.match(values?.content.toString("latin1") ?? "", /^\nSalted__.*\nSalted__/s);
  });

  test("a long one, and one that is all of a file, are members as they are", async () => {
    const [long, short] = [randomBytes(5000), randomBytes(200)].map((bytes) =>
      Buffer.concat([latin1("Salted__"), bytes]),
    );
    assert.ok(long && short);
    for (const [text, content] of [
      [`{"a": "${base64(long)}"}`, long],
      [`${wrapped(base64(short), 64)}\n`, short],
    ] as const) {
      const members = (await openContainer(encodedRuns, latin1(text)))?.members ?? [];
      assert.ok(members.some((member) => member.content.equals(content)));
    }
  });

  test("names of functions in a program are no runs", () => {
    const names =
      "_ZNSt6vectorIN4llvm12CodeViewYAML6detail16SymbolRecordImplINS0_8codeview11RegisterSymEEESaIvEE\0".repeat(99);
    assert.deepEqual(encodedRuns.find(memoryBlob(latin1(names))), []);
  });
});

describe("whatever is repeated", () => {
  const signs = [
    "QUJD",
    "5oB3gH7d9KxQ2wZ1",
    '"',
    '"+"',
    "\\n",
    "\\/",
    "%2B",
    "&#10;",
    "\n",
    "-",
    "=",
    "=41",
    "=\n",
    "0x41,",
    "41 ",
  ];
  const words = [
    "=ybegin \n",
    "=yend",
    "begin 644 x\n",
    `M${"A".repeat(60)}\n`,
    "end\n",
    "~>",
    "<~",
    "sha512-",
    "-----",
    "\\x41",
    "a\0",
  ];

  test("is passed over a bounded number of times", async () => {
    const all = [...signs, ...words];
    const mixtures = all.map((_, index) => [
      all[index],
      all[(index * 7 + 3) % all.length],
      all[(index * 11 + 5) % all.length],
    ]);
    for (const mixture of [...all.map((word) => [word]), ...mixtures]) {
      const text = latin1(mixture.join("").repeat(Math.ceil(300_000 / mixture.join("").length)));
      const opened = await openContainer(encodedRuns, text, { members: 1_000_000 });
      const bytes = opened?.members.reduce((sum, { content }) => sum + content.length, 0) ?? 0;
      assert.ok((opened?.work ?? 0) <= 24 * text.length, `${mixture}: work ${opened?.work}`);
      assert.ok(bytes <= 4 * text.length, `${mixture}: ${bytes} bytes`);
    }
  });
});
