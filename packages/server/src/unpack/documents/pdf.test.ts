import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { deflateRawSync, deflateSync } from "node:zlib";
import { ascii85 } from "../../../test/fixtures/corpus/old-coders.ts";
import { openPdf as open } from "../../../test/support/open-pdf.ts";
import { memoryBlob } from "../blob.ts";
import { LimitExceeded } from "../budget.ts";
import { pdf } from "./pdf.ts";

const contents = (file: Uint8Array): string[] => open(file).members.map(({ content }) => content.toString("latin1"));

const glue = (...pieces: (string | Uint8Array)[]): Buffer =>
  Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece, "latin1") : piece)));
const object = (dictionary: string, data: string | Uint8Array): Buffer =>
  glue(`1 0 obj\n<< ${dictionary} >>\nstream\n`, data, "\nendstream\nendobj\n");
const file = (...objects: (string | Uint8Array)[]): Buffer =>
  glue("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", ...objects, "%%EOF\n");

const TEXT = "alert('a script that somebody wrote');\n".repeat(4);
const packed = deflateSync(TEXT);
const hexed = (data: Uint8Array): string => `${Buffer.from(data).toString("hex")}>`;

/** Codes that are never shorter than they must be: a new table for every few bytes, then real repetitions. */
function lzw(data: Uint8Array, earlyChange: number): Buffer {
  let bits = "";
  let table = new Map<string, number>();
  let next = 0;
  let width = 9;
  const put = (code: number): void => {
    bits += code.toString(2).padStart(width, "0");
  };
  const clear = (): void => {
    put(256);
    table = new Map(Array.from({ length: 256 }, (_, byte) => [String.fromCharCode(byte), byte]));
    next = 258;
    width = 9;
  };
  clear();
  let word = "";
  for (const byte of data) {
    const longer = word + String.fromCharCode(byte);
    if (table.has(longer)) {
      word = longer;
      continue;
    }
    put(table.get(word) ?? 0);
    table.set(longer, next);
    next += 1;
    // The reader is one entry behind the writer.
    if (next - 1 + earlyChange >= 1 << width && width < 12) width += 1;
    if (next > 4000) clear();
    word = String.fromCharCode(byte);
  }
  put(table.get(word) ?? 0);
  next += 1;
  if (next - 1 + earlyChange >= 1 << width && width < 12) width += 1;
  put(257);
  return Buffer.from(bits.match(/.{1,8}/g)?.map((byte) => Number.parseInt(byte.padEnd(8, "0"), 2)) ?? []);
}

const runLength = (data: Uint8Array): Buffer =>
  glue(...Array.from(data, (byte) => Buffer.of(0, byte)), Buffer.of(254, 0x21), Buffer.of(128));

describe("the streams of a PDF", () => {
  test("one by the book comes out and is said to be so", () => {
    const right = object(`/Filter /FlateDecode /Length ${packed.length}`, packed);
    const { members, outcome } = open(file("9 0 obj\n<< /A 1 >>\nendobj\n", right));
    assert.deepEqual(
      members.map(({ way, content }) => [way, content.toString()]),
      [["pdf/flate", TEXT]],
    );
    assert.equal(outcome.kind, "opened");
  });

  test("whatever is odd about one, it comes out, and is not said to be by the book", () => {
    const right = `/Filter /FlateDecode /Length ${packed.length}`;
    const odd: Record<string, Buffer> = {
      "a carriage return": file(glue(`1 0 obj <<${right}>> stream\r`, packed, "\nendstream endobj ")),
      blanks: file(glue(`1 0 obj <<${right}>> stream  \r\n`, packed, "\nendstream endobj ")),
      nothing: file(glue(`1 0 obj <<${right}>>stream`, packed, "\nendstream endobj ")),
      "an escaped name": file(object(`/Fl#61g 1 /Fil#74er /Fl#61teDecode /Length ${packed.length}`, packed)),
      "an abbreviation": file(object(`/F /Fl /Length ${packed.length}`, packed)),
      "a wrong length": file(object("/Filter /FlateDecode /Length 3", packed)),
      "a length elsewhere": file(object("/Filter /FlateDecode /Length 9 0 R", packed)),
      "a long dictionary": file(object(`/A [${"1 ".repeat(100_000)}] ${right}`, packed)),
      "words in a string": file(object(`/A (>> stream\nendstream endobj 2 0 obj) ${right}`, packed)),
      "words in a comment": file(object(`% >> stream endobj 2 0 obj\n${right}`, packed)),
      "a bracket that is never closed before it": file("8 0 obj << /A ( ", object(right, packed)),
      "an object that does not end before it": file("8 0 obj << /A 1 >>\nentobj\n", object(right, packed)),
      "a dictionary that is never closed": file(glue(`1 0 obj << ${right} stream\n`, packed, "\nendstream endobj ")),
      "a wrong checksum": file(object(right, glue(packed.subarray(0, -4), "????"))),
      "no header": file(object("/Filter /FlateDecode", deflateRawSync(TEXT))),
      "blanks before the header": file(object("/Filter /FlateDecode", glue("\r\n ", packed))),
      "blanks and no header": file(object("/Filter /FlateDecode", glue(" \n", deflateRawSync(TEXT)))),
      "no filter": file(object(`/Length ${packed.length}`, packed)),
      "another filter": file(object("/Filter /ASCIIHexDecode", packed)),
      "filters elsewhere": file(object("/Filter 7 0 R", glue(hexed(packed))), "7 0 obj [/AHx /Fl] endobj "),
      "two filters": file(object("/Filter /RunLengthDecode /Filter /FlateDecode", packed)),
      "no object": file(glue("stream\n", packed, "\nendstream ")),
      "no end": glue("%PDF-1.4\n", glue(`1 0 obj <<${right}>> stream\n`, packed)),
      "something before it all": glue("x".repeat(1000), "%PDF-1.4\n", object(right, packed)),
    };
    for (const [name, document] of Object.entries(odd)) {
      const found = open(document).members.filter(({ content }) => content.toString("latin1") === TEXT);
      assert.ok(found.length > 0, name);
      assert.ok(
        found.every(({ way }) => way === undefined),
        name,
      );
    }
  });

  test("one with the word for its end inside is not by the book", () => {
    const text = `${TEXT}endstream`;
    const stored = deflateSync(text, { level: 0 });
    const { members } = open(file(object(`/Filter /FlateDecode /Length ${stored.length}`, stored)));
    assert.deepEqual(
      members.map(({ way, content }) => [way, content.toString()]),
      [[undefined, text]],
    );
  });

  test("every filter and chain of filters is undone", () => {
    const data = Buffer.concat([Buffer.from(TEXT.repeat(50)), randomBytes(6001)]);
    const chains: [string, string | Uint8Array][] = [
      ["/Filter /ASCIIHexDecode", hexed(data)],
      ["/Filter /ASCII85Decode", `<~${ascii85(data)}~>`],
      ["/Filter /LZWDecode", lzw(data, 1)],
      ["/Filter /LZW /DecodeParms << /EarlyChange 0 >>", lzw(data, 0)],
      ["/Filter [/AHx /A85 /Fl]", hexed(Buffer.from(`${ascii85(deflateSync(data))}~>`))],
      ["/Filter [/FlateDecode /LZWDecode /Crypt]", deflateSync(lzw(data, 1))],
      [
        `/Filter [${"/FlateDecode ".repeat(6)}]`,
        Array.from({ length: 6 }).reduce<Buffer>((inner) => deflateSync(inner), data),
      ],
    ];
    for (const [dictionary, stream] of chains) {
      assert.ok(contents(file(object(dictionary, stream))).includes(data.toString("latin1")), dictionary);
    }
    assert.deepEqual(contents(file(object("/Filter /RunLengthDecode", runLength(data)))), [
      `${data.toString("latin1")}!!!`,
    ]);
  });

  test("predictors are undone", () => {
    const data = randomBytes(40);
    const rows = Array.from({ length: 5 }, (_, row) => data.subarray(row * 8, row * 8 + 8));
    const up = rows.map((row, index) => [2, ...row.map((byte, at) => byte - (rows[index - 1]?.[at] ?? 0))]);
    const left = rows.map((row) => [1, ...row.map((byte, at) => byte - (row[at - 1] ?? 0))]);
    const tiff = rows.map((row) => [...row.map((byte, at) => byte - (row[at - 1] ?? 0))]);
    for (const [predictor, coded] of [
      [12, up],
      [15, left],
      [2, tiff],
    ] as const) {
      const dictionary = `/Filter /FlateDecode /DecodeParms << /Predictor ${predictor} /Columns 8 >>`;
      const stream = object(dictionary, deflateSync(Buffer.from(coded.flat())));
      assert.deepEqual(contents(file(stream)), [data.toString("latin1")], String(predictor));
    }
  });

  test("what does not decode comes out as it is, with what could be decoded", () => {
    const picture = `\xff\xd8\xff${TEXT}`;
    assert.deepEqual(contents(file(object("/Filter /DCTDecode", picture))), [picture]);
    assert.deepEqual(contents(file(object("/Filter /FlateDecode", TEXT))), [TEXT]);
    const text = randomBytes(10_000).toString("hex");
    const cut = deflateSync(text).subarray(0, 6000);
    const [raw, part] = contents(file(object("/Filter /FlateDecode", cut)));
    assert.ok(raw === cut.toString("latin1"), "the raw stream");
    assert.ok(part?.startsWith(text.slice(0, 8000)), "the part before the damage");
    const damaged = glue(cut, Buffer.alloc(5000, 0xff));
    assert.ok(
      contents(file(object("/Filter /FlateDecode", damaged))).some((found) => found.startsWith(text.slice(0, 8000))),
    );
  });

  test("a stream reads as far as its length says, wherever the length stands, and as far as the next end", () => {
    const zip = "PK endstream endobj and more";
    assert.deepEqual(contents(file(object(`/Length ${zip.length}`, zip))), [zip, "PK "]);
    assert.deepEqual(contents(file(object("/Length 5 0 R", zip), `5 0 obj ${zip.length} endobj `)), ["PK ", zip]);
    const inStream = deflateSync(`5 0 ${zip.length}`);
    const kept = object("/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode", inStream);
    assert.ok(contents(file(object("/Length 5 0 R", zip), kept)).includes(zip));
  });

  test("long strings come out decoded, those in object streams too", () => {
    const script = `app.alert("${"x".repeat(80)}")`;
    const escaped = script.replaceAll('"', "\\042").replace("app", "a\\\npp").replace("(", "\\(").replace(")", "\\)");
    assert.deepEqual(contents(file(`1 0 obj << /JS (${escaped}) >> endobj `)), [script]);
    assert.deepEqual(contents(file(`1 0 obj << /JS <${Buffer.from(script).toString("hex")}> >> endobj `)), [script]);
    const wide = Buffer.from(`\ufeff${script}`, "utf16le").swap16();
    assert.ok(contents(file(`1 0 obj << /JS <${wide.toString("hex")}> >> endobj `)).includes(script));
    const kept = `4 0 << /JS (${escaped}) >>`;
    const stream = object("/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode", deflateSync(kept));
    assert.deepEqual(contents(file(stream)), [kept, script]);
  });
});

describe("what is left of a PDF", () => {
  const covered = (document: Buffer): unknown => {
    const { outcome } = open(document);
    return outcome.kind === "opened" ? outcome.covered : outcome.kind;
  };

  test("all of an ordinary one is accounted for", () => {
    const document = file(
      object("/Filter /FlateDecode", packed),
      "xref\n0 1\n0000000000 65535 f \ntrailer << /Size 1 >>\n",
    );
    assert.deepEqual(covered(glue(document, "\r\n")), [{ start: 0, end: document.length + 2 }]);
  });

  test("what stands between objects, behind a stream's data and behind the end is left over", () => {
    const hidden = randomBytes(64);
    const before = glue("%PDF-1.7\n", object("/Length 2", "hi"));
    const between = glue(before, hidden, object("/Length 2", "hi"), "%%EOF\n");
    assert.deepEqual(covered(between), [
      { start: 0, end: before.length - "\nendstream\nendobj\n".length },
      { start: before.length + 64, end: between.length },
    ]);
    const behind = file(object("/Filter /FlateDecode", glue(packed, hidden)));
    assert.equal((covered(behind) as unknown[]).length, 2);
    const end = file(object("/Length 2", "hi"));
    assert.deepEqual(covered(glue(end, "text")), [{ start: 0, end: end.length - 1 }]);
  });

  test("a text that mentions the mark is a document without anything in it", () => {
    const text = Buffer.from('const MARK = "%PDF-";\n// see the stream of objects\n');
    assert.deepEqual(covered(text), [{ start: 0, end: text.length }]);
    assert.deepEqual(pdf.find(memoryBlob(Buffer.from(`${"x".repeat(1030)}%PDF-1.4`))), []);
  });

  test("an encrypted one is said to be so, and the word alone does not make it one", () => {
    for (const trailer of [
      "trailer << /Root 1 0 R /Encrypt 9 0 R >>\n",
      "trailer\r<</Size 4/Encr#79pt<</Filter/Standard/V 4>>>>\n",
      object("/Type /XRef /Size 4 /Encrypt 4 0 R /Length 1", "x"),
    ]) {
      const { outcome, members } = open(file(object("/Filter /FlateDecode", packed), trailer));
      assert.equal(outcome.kind, "encrypted");
      assert.ok(members.length > 0);
    }
    const harmless = [
      "1 0 obj << /Title (trailer /Encrypt 9 0 R) >> endobj ",
      object("/Length 40", "trailer: how to /Encrypt 9 0 R a document"),
    ];
    for (const text of harmless) assert.equal(open(file(text)).outcome.kind, "opened");
  });

  test("a stream that swells beyond measure is too large, and the others come out", () => {
    const bomb = object("/Filter /FlateDecode", deflateSync(Buffer.alloc(5_000_000)));
    const runs = object("/Filter /RunLengthDecode", Buffer.alloc(80_000, 129));
    assert.equal(open(file(runs)).outcome.kind, "too-large");
    const { outcome, members } = open(file(bomb, object("/Filter /FlateDecode", packed)));
    assert.equal(outcome.kind, "too-large");
    assert.deepEqual(
      members.map(({ content }) => content.toString()),
      [TEXT],
    );
  });
});

describe("the work a PDF makes", () => {
  const ordinary: Record<string, string> = {
    "words without objects": "/FlateDecode stream ",
    objects: "1 0 obj << /A [1 2 3] /B (text) >> endobj\n",
    brackets: "[<<",
    "ends without a beginning": "endstream endobj\n",
  };
  for (const [name, text] of Object.entries(ordinary)) {
    test(`is in proportion to its size: ${name}`, () => {
      const works = [2_000, 20_000].map((times) => {
        const document = glue("%PDF-1.4\n1 0 obj ", text.repeat(times));
        return open(document).work / document.length;
      });
      assert.ok(
        works.every((work) => work > 0 && work < 10),
        String(works),
      );
    });
  }

  const overlapping: Record<string, string> = {
    "streams that never end": "1 0 obj << /Filter /FlateDecode >> stream\n",
    "stored blocks over all the rest": "1 0 obj << /Filter /FlateDecode >> stream\n\x78\x01\x00\xff\xff\x00\x00",
    "strings that never end": "1 0 obj << /A (",
    "trailers that never end": "trailer << /A ",
  };
  for (const [name, text] of Object.entries(overlapping)) {
    test(`is charged every time, and the budget ends it: ${name}`, () => {
      assert.throws(() => open(glue("%PDF-1.4\n", text.repeat(50_000))), LimitExceeded);
    });
  }
  test("beginnings of streams that share an end do not each give all that follows", () => {
    const { members, outcome } = open(glue("%PDF-1.4\n", "stream\n".repeat(10_000)));
    assert.equal(outcome.kind, "too-large");
    assert.ok(members.reduce((sum, { content }) => sum + content.length, 0) < 2_000_000);
  });
});
