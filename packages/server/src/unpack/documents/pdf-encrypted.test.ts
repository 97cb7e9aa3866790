import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { glue, latin1, noise as sameNoise } from "../../../test/fixtures/corpus/container.ts";
import { type EncryptedShape, encryptedPdf, places } from "../../../test/fixtures/corpus/encrypted-pdfs.ts";
import { ascii85, pdfLzw } from "../../../test/fixtures/corpus/old-coders.ts";
import { type Handler, handlers } from "../../../test/fixtures/corpus/pdf-encryption.ts";
import { openPdf } from "../../../test/support/open-pdf.ts";
import { LimitExceeded } from "../budget.ts";

const SCRIPT = Buffer.from("app.alert('a script (that \\somebody) wrote');\r\n".repeat(4));
const RC4 = handlers["RC4 of 128 bits"] as Handler;
const AES = handlers["AES of 128 bits"] as Handler;
const AES_256 = handlers["AES of 256 bits, revision 6"] as Handler;
const LOCKED = { user: "the user" };

/** Whether the content came out, and what was said about the rest. */
function found(file: Buffer, content: Buffer): string {
  const { members, outcome } = openPdf(file);
  assert.ok(
    members.every(({ way }) => way === undefined),
    "nothing is by the book in an encrypted document",
  );
  return `${members.some((member) => member.content.equals(content)) ? "found" : "not found"}, ${outcome.kind}`;
}

const attachment = (shape: Partial<EncryptedShape> = {}): Buffer =>
  encryptedPdf(SCRIPT, { handler: AES, place: "attachment", ...shape });

for (const [name, handler] of Object.entries(handlers)) {
  describe(`a PDF that is encrypted by ${name}`, () => {
    for (const place of places) {
      test(`is decrypted if no password is needed: ${place}`, () => {
        for (const literal of [true, false]) {
          const shape = { handler, place, literal };
          assert.equal(found(encryptedPdf(SCRIPT, shape), SCRIPT), "found, opened");
          const ownerless = encryptedPdf(SCRIPT, { ...shape, ...LOCKED, owner: "" });
          assert.equal(found(ownerless, SCRIPT), "found, opened");
          const both = encryptedPdf(SCRIPT, { ...shape, owner: "" });
          assert.equal(found(both, SCRIPT), "found, opened");
        }
      });
      test(`is encrypted if one is: ${place}`, () => {
        assert.equal(found(encryptedPdf(SCRIPT, { handler, place, ...LOCKED }), SCRIPT), "not found, encrypted");
      });
    }
  });
}

describe("streams of an encrypted PDF", () => {
  // The same each time: by a wrong key, one in some hundred noises begins as compressed data does.
  const noise = sameNoise(3000);
  const hex = (content: Buffer): Buffer => latin1(`${content.toString("hex")}>`);
  const a85 = (content: Buffer): Buffer => latin1(`${ascii85(content)}~>`);
  const packed: Record<string, [dictionary: string, pack: (content: Buffer) => Buffer]> = {
    none: ["", (content) => content],
    Flate: ["/Filter /FlateDecode", (content) => deflateSync(content)],
    LZW: ["/Filter /LZWDecode", pdfLzw],
    hex: ["/Filter /ASCIIHexDecode", hex],
    "a chain of filters": ["/Filter [/ASCII85Decode /FlateDecode]", (content) => a85(deflateSync(content))],
    "filters in another object": ["/Filter 7 0 R /Filter [/AHx /Fl]", (content) => hex(deflateSync(content))],
    "no header of Flate": ["/Filter /FlateDecode", (content) => deflateSync(content).subarray(2)],
  };
  for (const [name, [dictionary, pack]] of Object.entries(packed)) {
    test(`come out decrypted, whatever they are packed by: ${name}`, () => {
      for (const handler of [RC4, AES, AES_256]) {
        for (const content of [SCRIPT, noise]) {
          const file = encryptedPdf(content, { handler, place: "stream", dictionary, pack });
          assert.equal(found(file, content), "found, opened");
        }
      }
    });

    test(`come out as they are if they were never encrypted: ${name}`, () => {
      for (const handler of [RC4, AES, AES_256]) {
        const file = encryptedPdf(SCRIPT, { handler, place: "stream", dictionary, pack, plain: true });
        assert.equal(found(file, SCRIPT), "found, opened");
      }
    });

    test(`come out by the number that a table's reader sees, and without a generation: ${name}`, () => {
      for (const handler of [RC4, AES]) {
        for (const content of [SCRIPT, noise]) {
          const shape = { handler, place: "stream", dictionary, pack } as const;
          for (const written of ["916 0 obj", "6 3 obj", "16 3 obj"]) {
            // Without its header nothing tells compressed data from noise; readers do not take it either.
            const expected = name.startsWith("no header") ? "not found, encrypted" : "found, opened";
            assert.equal(found(encryptedPdf(content, { ...shape, written }), content), expected, written);
          }
        }
      }
    });
  }

  test("come out by their generation", () => {
    for (const handler of [RC4, AES]) {
      assert.equal(found(attachment({ handler, id: [6, 3] }), SCRIPT), "found, opened");
    }
  });

  test("come out by the generation that only a table says", () => {
    const pack = (content: Buffer): Buffer => content;
    for (const content of [SCRIPT, noise]) {
      for (const table of ["table", "stream"] as const) {
        const shape = { handler: RC4, place: "stream", dictionary: "", pack, id: [6, 7], table } as const;
        const file = encryptedPdf(content, { ...shape, written: "6 0 obj", tableGeneration: 7 });
        assert.equal(found(file, content), "found, opened");
      }
    }
    const many = Array.from({ length: 20 }, (_, index) => `\n0000000015 000${index + 10} n `).join("");
    assert.equal(found(attachment({ after: many }), SCRIPT), "found, encrypted");
  });

  test("that ask for no encryption come out, and those that only attachments have", () => {
    const dictionary = "/Filter [/Crypt /FlateDecode] /DecodeParms [<< /Name /Identity >> null]";
    assert.equal(found(attachment({ dictionary, plain: true }), SCRIPT), "found, opened");
    const asked = "/Filter [/Crypt /FlateDecode] /DecodeParms [<< /Name /StdCF >> null]";
    const filters = "/StmF /Identity /StrF /Identity";
    assert.equal(found(attachment({ dictionary: asked, handler: { ...AES, filters } }), SCRIPT), "found, opened");
    const attached = { ...AES, filters: `${filters} /EFF /StdCF` };
    assert.equal(found(attachment({ handler: attached }), SCRIPT), "found, opened");
    assert.equal(found(attachment({ handler: attached, ...LOCKED }), SCRIPT), "not found, encrypted");
  });

  test("that are pictures come out decrypted, and as they are if that is no noise", () => {
    const shape = {
      handler: RC4,
      place: "stream",
      dictionary: "/Filter /DCTDecode",
      pack: (content: Buffer) => content,
    };
    for (const content of [SCRIPT, noise]) {
      assert.equal(found(encryptedPdf(content, { ...shape, place: "stream" }), content), "found, opened");
    }
    assert.equal(found(encryptedPdf(SCRIPT, { ...shape, place: "stream", plain: true }), SCRIPT), "found, opened");
  });

  test("that make no sense by any key keep the document encrypted", () => {
    for (const name of ["Flate", "hex", "a chain of filters"]) {
      const [own, pack] = packed[name] as (typeof packed)[string];
      const dictionary = name === "Flate" ? "/Filter [/Crypt /FlateDecode]" : own;
      for (const handler of [RC4, AES]) {
        const shape = { handler, place: "attachment", dictionary, pack } as const;
        for (const written of ["777 0 obj", "6 % a comment\n0 obj"]) {
          const file = encryptedPdf(SCRIPT, { ...shape, written });
          assert.equal(found(file, SCRIPT), "not found, encrypted");
        }
      }
    }
  });
});

describe("the encryption of a PDF", () => {
  const update = "8 0 obj\n<< /A 1 >>\nendobj\nxref\n0 0\ntrailer\n<< /Root 1 0 R /Size 12 >>\n%%EOF\n";
  const writings: Record<string, Partial<EncryptedShape>> = {
    "in the trailer itself": { direct: true },
    "in the stream that is a table": { table: "stream" },
    "in that stream itself": { table: "stream", direct: true },
    "by a name with an escape": { key: "Encr#79pt" },
    "by a name of escapes, in a stream": { key: "#45#6e#63#72#79#70#74", table: "stream" },
    "in a document without a table": { table: "none" },
    "in an earlier revision": { after: update },
    "in a trailer in the middle of a line": { table: "none", after: "% trailer" },
  };
  for (const [name, shape] of Object.entries(writings)) {
    test(`is found ${name}`, () => {
      for (const handler of [RC4, AES, AES_256]) {
        assert.equal(found(attachment({ handler, ...shape }), SCRIPT), "found, opened");
        assert.equal(found(attachment({ handler, ...shape, ...LOCKED }), SCRIPT), "not found, encrypted");
      }
    });
  }

  test("is found in a stream that a table stands in, and in one that a hybrid file leads to", () => {
    const file = attachment(LOCKED).toString("latin1");
    const at = file.indexOf("xref\n0 1");
    const hidden = file.slice(at, file.indexOf("startxref"));
    const head = `90 0 obj\n<< /Length ${hidden.length} >>\nstream\n`;
    const body = `${file.slice(0, at)}${head}${hidden}\nendstream\nendobj\n`;
    const pointing = `startxref\n${at + head.length}\n%%EOF\n`;
    assert.equal(found(latin1(`${body}${pointing}`), SCRIPT), "not found, encrypted");
    const previous = `xref\n0 0\ntrailer\n<< /Root 1 0 R /Prev ${at + head.length} >>\nstartxref\n${body.length}\n%%EOF\n`;
    assert.equal(found(latin1(`${body}${previous}`), SCRIPT), "not found, encrypted");

    const stream = attachment({ ...LOCKED, table: "stream" });
    const place = /startxref\n(\d+)/.exec(stream.toString("latin1"))?.[1];
    const table = `xref\n0 0\ntrailer\n<< /Root 1 0 R /XRefStm ${place} >>\nstartxref\n${stream.length}\n%%EOF\n`;
    assert.equal(found(glue(stream, table), SCRIPT), "not found, encrypted");
  });

  test("by another handler, by a method that nobody knows, or that is nowhere, is not undone", () => {
    const file = attachment().toString("latin1");
    for (const [written, instead] of [
      ["/Filter /Standard", "/Filter /Adobe.PubSec"],
      ["/Filter /Standard", "/Filter /FOPN_foweb"],
      ["/CFM /AESV2", "/CFM /None"],
      ["/CFM /AESV2", "/CFM /AESV9"],
      ["/R 4", "/R 9"],
      ["9 0 obj", "99 0 obj"],
    ] as const) {
      assert.ok(file.includes(written));
      assert.equal(found(latin1(file.replace(written, instead)), SCRIPT), "not found, encrypted", instead);
    }
  });

  test("is read in the ways in which it is written wrongly", () => {
    const file = attachment({ handler: handlers["RC4 of 72 bits"] as Handler }).toString("latin1");
    for (const [written, instead] of [
      ["/Length 72", "/Length 9"],
      ["/P -3904", "/P 4294963392"],
      ["/R 3", "/R 20 0 R"],
      ["/R 3", "/R 3 /R 2"],
      ["/R 3", "/R 2 /R 3"],
    ] as const) {
      assert.ok(file.includes(written));
      const revised = glue("%PDF-1.7\n20 0 obj 3 endobj\n", file.replace(written, instead).replace("%PDF-1.7\n", ""));
      assert.equal(found(revised, SCRIPT), "found, opened", instead);
    }
    const lengthless = attachment({ handler: RC4 }).toString("latin1").replace("/Length 128", "");
    assert.equal(found(latin1(lengthless), SCRIPT), "found, opened");
    const short = attachment({ handler: { ...RC4, size: 5, hashesAll: true }, ...LOCKED, owner: "" });
    assert.equal(found(short, SCRIPT), "found, opened");
  });

  test("of revision 6 is undone after as many rounds as chance wants", () => {
    for (let index = 0; index < 30; index += 1) {
      const file = attachment({ handler: AES_256, user: `user ${index}`, owner: "" });
      assert.equal(found(file, SCRIPT), "found, opened");
    }
  });

  test("in a text, a comment, or in a document that is embedded in another says nothing about this one", () => {
    const trailer = "trailer << /Root 1 0 R /Size 3 /Encrypt 9 0 R >>";
    const inner = attachment(LOCKED);
    const texts: (string | Buffer)[] = [
      `4 0 obj\n<< /Title (see\n${trailer}) >>\nendobj\n`,
      `% ${trailer}\n`,
      glue(`4 0 obj\n<< /Length ${trailer.length} >>\nstream\n`, trailer, "\nendstream\nendobj\n"),
      glue(`4 0 obj\n<< /Length ${inner.length} >>\nstream\n`, inner, "\nendstream\nendobj\n"),
      glue("4 0 obj\n<< /Length 5 0 R >>\nstream\n", inner, `\nendstream\nendobj\n5 0 obj ${inner.length} endobj\n`),
    ];
    for (const text of texts) {
      const body = glue("%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n", text);
      const file = glue(body, `xref\n0 0\ntrailer\n<< /Root 1 0 R /Size 6 >>\nstartxref\n${body.length}\n%%EOF\n`);
      assert.equal(openPdf(file).outcome.kind, "opened", text.toString("latin1").slice(0, 60));
      // Nobody can tell what a document without a table is.
      const damaged = latin1(file.toString("latin1").replace(/startxref\n\d+\n%%EOF\n$/, ""));
      assert.equal(openPdf(damaged).outcome.kind, "encrypted");
    }
  });
});

describe("the work that an encrypted PDF makes", () => {
  const ordinary: Record<string, string> = {
    objects: "12 0 obj << /A [1 2 3] /B (text) >> endobj\n",
    streams: `12 0 obj << /Filter /FlateDecode /Length 5 >> stream\nhello\nendstream ${"% a comment\n".repeat(90)} endobj\n`,
  };
  for (const [name, text] of Object.entries(ordinary)) {
    test(`is in proportion to its size: ${name}`, () => {
      const works = [20_000, 200_000].map((bytes) => {
        const file = attachment({ handler: RC4, after: text.repeat(bytes / text.length) });
        const { outcome, work } = openPdf(file);
        assert.equal(outcome.kind, "opened");
        return work / file.length;
      });
      assert.ok(
        works.every((work) => work > 0 && work < 20),
        String(works),
      );
    });
  }

  const traps: Record<string, string> = {
    "trailers that never end": "trailer << /Encrypt 9 0 R /A ",
    "strings that never end": "1 0 obj << /A (",
  };
  for (const [name, text] of Object.entries(traps)) {
    test(`is charged every time, and the budget ends it: ${name}`, () => {
      assert.throws(() => openPdf(attachment({ handler: RC4, after: text.repeat(50_000) })), LimitExceeded);
    });
  }

  test("is charged for every key that is tried, however little is decrypted by it", () => {
    const rows = Array.from({ length: 16 }, (_, index) => `\n0000000000 ${10_001 + index} n \n`).join("");
    const stream = "1111111111 0 obj << /Filter /Fl /Length 17 >> stream\n!!!!!!!!!!!!!!!!!\nendstream\n";
    const string = `1111111111 0 obj <${randomBytes(66).toString("hex")}> endobj\n`;
    for (const text of [stream, string]) {
      assert.throws(() => openPdf(attachment({ handler: RC4, after: rows + text.repeat(100) })), LimitExceeded);
    }
  });

  test("ends where streams without an end would give the same bytes again and again", () => {
    for (const text of ["1 0 obj << >> stream\n", "1 0 obj << /Filter /FlateDecode >> stream\n\x78\x9c"]) {
      const { outcome, members } = openPdf(attachment({ handler: AES_256, after: text.repeat(20_000) }));
      assert.ok(outcome.kind === "too-large" || outcome.kind === "encrypted");
      assert.ok(members.length < 100);
    }
  });

  test("is small for many trailers, each with an encryption of its own, and for streams of unknown lengths", () => {
    const start = `1 0 obj << /Filter /FlateDecode /Length 5 0 R >> stream\nendstream endobj\n`;
    const trailer = (index: number): string =>
      `trailer << /Encrypt << /Filter /Standard /V 2 /R 3 /O (${index}) >> >>\n`;
    const many = Array.from({ length: 5_000 }, (_, index) => `${start}${trailer(index)}`).join("");
    const { outcome, work } = openPdf(attachment({ handler: RC4, after: many }));
    assert.equal(outcome.kind, "encrypted");
    assert.ok(work < 60 * many.length, String(work / many.length));
  });
});
