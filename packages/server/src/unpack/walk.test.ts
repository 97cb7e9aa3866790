import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { packedBy7z } from "../../test/fixtures/archives.ts";
import { compoundFile } from "../../test/fixtures/compound-writer.ts";
import { workbookStream } from "../../test/fixtures/office-writer.ts";
import { tar } from "../../test/fixtures/tar-writer.ts";
import {
  deflated,
  METHOD_DEFLATED,
  packedAs,
  stored,
  withDescriptor,
  withZip64,
  zip,
} from "../../test/fixtures/zip-writer.ts";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { FULL_LIMITS } from "../engines/threads/scan-limits.ts";
import { memoryBlob } from "./blob.ts";
import { Cancelled, type UnpackLimits, unpackBudget } from "./budget.ts";
import { sevenZipProgram } from "./seven-zip.ts";
import { Crowded, type Doubt, walk } from "./walk.ts";

const sevenZip = sevenZipProgram();
const payload = Buffer.from("a payload that nobody would take for anything else\n".repeat(4));
const other = Buffer.from("and something else, to stand beside it\n".repeat(4));

interface Walked {
  /** path → content of everything that was seen, and of everything that was shown to the other unpacker. */
  seen: Map<string, Buffer>;
  shown: Map<string, Buffer>;
  doubt: Doubt | undefined;
}

interface WalkOptions {
  opens?: string[];
  gets?: "file" | "contents" | "members";
  limits?: Partial<UnpackLimits>;
  cancelled?: () => boolean;
}

async function walked(
  file: Uint8Array,
  { opens, gets = "file", limits = {}, cancelled = () => false }: WalkOptions = {},
): Promise<Walked> {
  using folder = temporaryFolder();
  const [seen, shown] = [new Map<string, Buffer>(), new Map<string, Buffer>()];
  const note =
    (into: Map<string, Buffer>) =>
    (content: { size: number; bytes(at: number, length: number): Buffer }, path: readonly string[]) =>
      void into.set(path.join("/"), Buffer.from(content.bytes(0, content.size)));
  const visitor = {
    see: note(seen),
    ...(opens && { other: { gets, opens: new Set(opens), show: note(shown) } }),
  };
  const budget = unpackBudget({ ...FULL_LIMITS, ...limits }, file.length, cancelled);
  const { doubt } = await walk(memoryBlob(file), visitor, {
    budget,
    sevenZip,
    folder: folder.path,
    ignored: new Set(),
  });
  return { seen, shown, doubt };
}

const has = (contents: ReadonlyMap<string, Buffer>, content: Buffer): boolean =>
  [...contents.values()].some((one) => one.equals(content));

describe("every content is seen", () => {
  test("the file, its members and theirs, each by its path", async () => {
    const file = zip([deflated("inner.tar.gz", gzipSync(tar([{ name: "a.txt", content: payload }])))]);
    const { seen, doubt } = await walked(file);
    assert.deepEqual([...seen.keys()], ["", "inner.tar.gz", "inner.tar.gz/gzip", "inner.tar.gz/gzip/a.txt"]);
    assert.equal(doubt, undefined);
    assert.ok(has(seen, payload));
  });

  test("the same content once, however often it is there", async () => {
    const { seen } = await walked(zip([stored("a", payload), deflated("b", payload)]));
    assert.deepEqual([...seen.keys()], ["", "a"]);
  });

  const rests: Record<string, () => Buffer> = {
    "behind a gzip": () => Buffer.concat([gzipSync(other), payload]),
    "behind an xz": () => Buffer.concat([packedBy7z(other, "xz"), payload]),
    "behind a bzip2": () => Buffer.concat([packedBy7z(other, "bz2"), payload]),
    "behind a 7z": () => Buffer.concat([packedBy7z(other, "7z"), payload]),
    "in front of a zip": () => zip([stored("a", other)], { prefix: payload }),
    "between the members of a zip and its directory": () => zip([stored("a", other)], { beforeDirectory: payload }),
    "behind a tar": () => Buffer.concat([tar([{ name: "a", content: other }]), payload]),
  };
  for (const [name, make] of Object.entries(rests)) {
    test(`what is left over ${name}`, async () => assert.ok(has((await walked(make())).seen, payload)));
  }

  test("what is left over is opened itself", async () => {
    const hidden = packedBy7z(payload, "7z");
    const { seen } = await walked(Buffer.concat([gzipSync(other), randomBytes(100), hidden]));
    assert.ok(has(seen, payload));
  });

  test("padding is not worth a look", async () => {
    const { seen } = await walked(Buffer.concat([gzipSync(other), Buffer.alloc(3000, 0xff)]));
    assert.deepEqual([...seen.keys()], ["", "gzip"]);
  });

  test("a name cannot do anything to a terminal or a log", async () => {
    const { seen } = await walked(zip([stored("\x1b[2J\n../x", payload)]));
    assert.deepEqual([...seen.keys()], ["", "?[2J?../x"]);
  });
});

describe("the other unpacker is shown what it has not come across", () => {
  const inner = zip([deflated("a", payload), stored("b", other)]);
  const opens = ["zip/deflated", "zip/stored", "gzip"];

  test("nothing of what it opens by itself, however deep", async () => {
    const { shown, seen } = await walked(zip([deflated("inner.zip", gzipSync(inner))]), { opens });
    assert.ok(has(seen, payload));
    assert.deepEqual([...shown.keys()], []);
  });

  test("everything, if it opens nothing", async () => {
    const { shown } = await walked(zip([deflated("inner.zip", inner)]), { opens: [] });
    assert.deepEqual([...shown.keys()], ["inner.zip/a", "inner.zip/b", "inner.zip"]);
  });

  test("what is in a container that it does not open, down to the container in it", async () => {
    const { shown } = await walked(packedBy7z(inner, "7z"), { opens });
    assert.deepEqual([...shown.keys()], ["sample.txt/a", "sample.txt/b", "sample.txt"]);
  });

  test("a member that was packed in another way than all the others", async () => {
    const file = zip([deflated("a", payload), withZip64(deflated("b", other), "both")]);
    assert.deepEqual([...(await walked(file, { opens })).shown.keys()], ["b"]);
  });

  test("the members of an archive that stands in the middle of something", async () => {
    const { shown } = await walked(Buffer.concat([randomBytes(600), inner]), { opens });
    assert.ok(has(shown, payload) && has(shown, other));
  });

  test("what is left over", async () => {
    const { shown } = await walked(Buffer.concat([gzipSync(other), payload]), { opens });
    assert.ok(has(shown, payload));
  });

  test("one by one, and never as a whole, where there are more than it may be left with", async () => {
    const many = zip(Array.from({ length: 4500 }, (_, index) => stored(`${index}`, Buffer.from(`content ${index}`))));
    await assert.rejects(walked(many, { opens }), Crowded);
    await assert.rejects(walked(many, { opens: [] }), Crowded);
    const { shown, doubt } = await walked(gzipSync(many), { gets: "contents", opens: [] });
    assert.equal([...shown.keys()].filter((path) => !/bytes |members in a zip$/.test(path)).length, 4500);
    assert.ok(!has(shown, many));
    assert.equal(doubt, undefined);
  });

  test("and not as a whole where all that is in it was looked at before", async () => {
    const members = Array.from({ length: 4500 }, (_, index) => stored(`${index}`, Buffer.from(`content ${index}`)));
    const again = zip([...members].reverse());
    const file = tar([
      { name: "a.zip", content: zip(members) },
      { name: "b.zip", content: again },
    ]);
    const { shown } = await walked(file, { gets: "contents", opens: [] });
    assert.ok(!has(shown, again));
  });

  test("such an archive in windows that overlap, with no members in them, for what its structure holds", async () => {
    const members = Array.from({ length: 4500 }, (_, index) => stored(`${index}`, Buffer.from(`content ${index}`)));
    const extra = randomBytes(60_000);
    const file = zip([...members, stored("large", randomBytes(950_000)), { ...stored("last", payload), extra }]);
    const { shown } = await walked(file, { gets: "contents", opens: [] });
    const shownWindows = [...shown].filter(([path]) => path.startsWith("bytes ")).map(([, content]) => content);
    // Else one that begins like a song or a database, which whoever made the archive can choose, would not be looked into.
    assert.ok(shownWindows.every((window) => window[0] === 0));
    const windows = shownWindows.map((window) => window.subarray(1));
    const [first = payload, second = payload, ...more] = windows;
    assert.deepEqual([first.length, more.length], [1024 * 1024, 0]);
    const whole = Buffer.concat([first.subarray(0, 960 * 1024), second]).toString("latin1");
    assert.equal(whole, file.toString("latin1").replaceAll("PK\x03\x04", "\0K\x03\x04"));
    assert.ok(windows.some((window) => window.includes(extra)));
  });

  test("not as a whole with more than 4,000 empty members and folders, for each of which clamd reads all of it", async () => {
    const nothing = Buffer.alloc(0);
    const empty = (count: number): Buffer =>
      zip(Array.from({ length: count }, (_, index) => stored(index % 2 ? `${index}` : `${index}/`, nothing)));
    assert.equal((await walked(empty(4000), { opens })).doubt, undefined);
    const [many, one] = [empty(4001), stored("a", nothing)];
    await assert.rejects(walked(many, { opens }), Crowded);
    await assert.rejects(walked(many.subarray(0, many.indexOf("PK\x01\x02")), { opens }), Crowded);
    // All in one place, by the directory.
    const same = Array.from({ length: 4001 }, (_, index) => ({ ...one, name: `${index}`, central: { offset: 0 } }));
    await assert.rejects(walked(zip(same), { opens }), Crowded);
    // Whose size stands behind them are not empty.
    const streamed = Array.from({ length: 3900 }, (_, index) =>
      withDescriptor(deflated(`${index}`, Buffer.from(`${index}`))),
    );
    assert.equal((await walked(zip([...streamed, ...Array(200).fill(one)]), { opens: [] })).doubt, undefined);
    // Nor what holds it once more.
    const around = (name: string): Buffer => zip([stored(name, many)]);
    const { shown } = await walked(zip([stored("a", many), stored("b", around("b")), stored("c", around("c"))]), {
      gets: "contents",
      opens: [],
    });
    assert.ok(![...shown.values()].some((content) => content.includes("PK\x03\x04")));
  });

  test("as it is too, when it does not get the file by another way and it is no trap", async () => {
    const { shown } = await walked(zip([stored("a", payload)]), { gets: "contents", opens: [] });
    assert.deepEqual([...shown.keys()], ["a", ""]);
  });

  test("what is in a text that also is an archive, and what is left of the text", async () => {
    const script = Buffer.from("#!/bin/sh\n# this script has an archive at its end\nexit 0\n".repeat(3));
    const { shown } = await walked(zip([stored("a", payload)], { prefix: script }), { opens });
    assert.ok(has(shown, payload) && has(shown, script));
  });
});

describe("what could not be looked at is in doubt", () => {
  const finding = async (file: Uint8Array, limits: Partial<UnpackLimits> = {}): Promise<string | undefined> =>
    (await walked(file, { limits })).doubt?.finding;
  const many = zip(Array.from({ length: 50 }, (_, index) => stored(`${index}`, Buffer.from(`content ${index}`))));

  test("too many members", async () => assert.equal(await finding(many, { members: 20 }), "scanner:limits-exceeded"));
  test("too many bytes", async () =>
    assert.equal(await finding(many, { unpackedBytes: 100 }), "scanner:limits-exceeded"));
  test("too many layers", async () => {
    const deep = zip([stored("a", gzipSync(gzipSync(payload)))]);
    assert.equal(await finding(deep, { layers: 3 }), "scanner:limits-exceeded");
    assert.equal(await finding(deep, { layers: 4 }), undefined);
  });
  test("too much work", async () => {
    assert.equal(await finding(many, { workFromBytes: 0, workRatio: 1 }), "scanner:limits-exceeded");
  });
  test("a member that cannot be opened, with its path", async () => {
    const { doubt, seen } = await walked(
      zip([stored("broken.7z", packedBy7z(other, "7z").subarray(0, 90)), stored("b", payload)]),
    );
    assert.equal(doubt?.finding, "scanner:unsupported-archive");
    assert.deepEqual(doubt?.path, ["broken.7z"]);
    assert.ok(has(seen, payload), "what came after it was not seen");
  });
  test("but not a signature in the middle of other data", async () => {
    const noise = Buffer.concat([
      randomBytes(1000),
      Buffer.from("7z\xbc\xaf\x27\x1c BZh91AY&SY", "latin1"),
      randomBytes(1000),
    ]);
    assert.equal(await finding(noise), undefined);
  });
});

describe("a file in several streams", () => {
  const file = tar([{ name: "a", content: Buffer.concat(Array(20).fill(payload)) }]);
  const inHalves = Buffer.concat([gzipSync(file.subarray(0, 1500)), gzipSync(file.subarray(1500))]);
  test("is whole, although none of the streams is", async () => {
    assert.equal((await walked(inHalves)).doubt, undefined);
  });
  test("is in doubt where it is cut off itself", async () => {
    const cut = Buffer.concat([gzipSync(file.subarray(0, 1500)), gzipSync(file.subarray(1500, 2500))]);
    assert.equal((await walked(cut)).doubt?.finding, "scanner:unsupported-archive");
  });
  test("is in doubt where one of them is something else that cannot be opened", async () => {
    const broken = packedBy7z(other, "7z").subarray(0, 90);
    assert.equal(
      (await walked(Buffer.concat([inHalves, gzipSync(broken)]))).doubt?.finding,
      "scanner:unsupported-archive",
    );
  });
});

test("a walk that was called off ends", async () => {
  let asked = 0;
  const cancelled = (): boolean => {
    asked += 1;
    return asked > 3;
  };
  await assert.rejects(walked(zip([stored("a", payload), stored("b", other)]), { cancelled }), Cancelled);
});

describe("containers in the middle of something else", () => {
  // Its stream begins like one, and refers to what is not there.
  const fake = Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x03, 0x02]), Buffer.alloc(40, 0xff)]);
  const beginning = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), randomBytes(300)]);

  test("are opened behind some that are none", async () => {
    const { seen, doubt } = await walked(
      Buffer.concat([beginning, ...Array.from({ length: 100 }, () => fake), gzipSync(payload)]),
    );
    assert.ok(has(seen, payload));
    assert.equal(doubt, undefined);
  });

  test("behind too many of them are beyond the limits, never clean", async () => {
    const { doubt } = await walked(
      Buffer.concat([beginning, ...Array.from({ length: 300 }, () => fake), gzipSync(payload)]),
    );
    assert.equal(doubt?.finding, "scanner:limits-exceeded");
  });
});

describe("a compound file", () => {
  const damaged = Buffer.from(zip([stored("a.txt", payload), deflated("b.txt", Buffer.concat([payload, other]))]));
  damaged.fill(0xaa, damaged.indexOf("b.txt") + 5, damaged.indexOf("b.txt") + 60);
  const filler = { name: "WordDocument", content: randomBytes(5000) };

  test("an archive in sectors that nothing uses is opened, and no reason to doubt if it is damaged", async () => {
    const archive = zip([deflated("a.txt", payload)]);
    assert.ok(has((await walked(compoundFile([filler], { free: archive }))).seen, payload));
    assert.ok(has((await walked(compoundFile([filler], { slack: gzipSync(other) }))).seen, other));
    const { seen, doubt } = await walked(compoundFile([filler], { free: damaged }));
    assert.ok(has(seen, payload));
    assert.equal(doubt, undefined);
    // The same bytes once more, as a member: there the damage counts.
    const free = Buffer.concat([damaged, Buffer.alloc(512 - (damaged.length % 512), 1)]);
    const both = zip([stored("a.doc", compoundFile([filler], { free })), stored("b.gz", gzipSync(free))]);
    assert.equal((await walked(both)).doubt?.finding, "scanner:unsupported-archive");
    assert.equal(
      (await walked(compoundFile([filler, { name: "A", content: damaged }]))).doubt?.finding,
      "scanner:unsupported-archive",
    );
    assert.equal(
      (await walked(Buffer.concat([compoundFile([filler]), damaged]))).doubt?.finding,
      "scanner:unsupported-archive",
    );
  });

  test("an archive whose sectors are in another order is opened as a stream, and in the raw bytes is none", async () => {
    const content = zip([deflated("a.bin", randomBytes(6200)), deflated("a.txt", payload)]);
    const { seen, doubt } = await walked(compoundFile([filler, { name: "A", content }], { order: "even first" }));
    assert.equal(doubt, undefined);
    assert.ok(has(seen, payload));
  });

  test("with more short streams than clamd gets through is shown as its streams only, and so is what is around it", async () => {
    const short = (count: number): { name: string; content: Buffer }[] =>
      Array.from({ length: count }, (_, index) => ({ name: `${index}`, content: Buffer.alloc(4000, `${index}, `) }));
    const [many, few] = [short(300), short(200)];
    const file = compoundFile(many);
    await assert.rejects(walked(file, { opens: ["ole"] }), Crowded);
    await assert.rejects(walked(zip([stored("a.doc", file)]), { opens: ["zip/stored", "ole"] }), Crowded);
    const { shown } = await walked(zip([stored("a.doc", file)]), { opens: ["ole"], gets: "contents" });
    assert.ok(many.every(({ content }) => has(shown, content)));
    assert.ok(!shown.has("") && !shown.has("a.doc"));
    assert.equal((await walked(compoundFile(few), { opens: ["ole"] })).doubt, undefined);
  });

  test("is a zip too, if programs find one from its end", async () => {
    const large = randomBytes(5000);
    const content = zip([deflated("a.bin", large)]);
    const pieces = Array.from({ length: Math.ceil(content.length / 512) }, (_, at) =>
      content.subarray(at * 512, at * 512 + 512),
    );
    // Its sectors are written backwards: in the stream there is no archive, in the file there is.
    const turned = Buffer.concat(
      pieces.map((piece) => Buffer.concat([piece, Buffer.alloc(512 - piece.length)])).reverse(),
    );
    const file = compoundFile([{ name: "A", content: turned }], { order: "backwards" });
    assert.ok(has((await walked(file)).seen, large));
  });
});

describe("what a mail says is base64", () => {
  const mailOf = (body: string): Buffer =>
    Buffer.from(`From: a@example.com\r\nTo: b@example.com\r\nContent-Transfer-Encoding: base64\r\n\r\n${body}\r\n`);
  const lines = (text: string): string => text.replace(/.{76}/g, "$&\r\n");

  test("is decoded once, where there is one reading only", async () => {
    const { seen } = await walked(mailOf(lines(payload.toString("base64"))));
    assert.deepEqual([...seen.values()].filter((content) => content.equals(payload)).length, 1);
    assert.equal(seen.size, 2);
  });

  test("may be hexadecimal digits", async () => {
    const file = payload.subarray(0, 60);
    assert.ok(has((await walked(mailOf(lines(file.toString("hex"))))).seen, file));
  });

  test("may have something in front that does not belong to it", async () => {
    const file = randomBytes(600);
    assert.ok(has((await walked(mailOf(`ABCD+/AB\r\n${lines(file.toString("base64"))}`))).seen, file));
    const odd = file.subarray(0, 61);
    const letters = odd.toString("base64").replace(/=+$/, "");
    assert.ok(has((await walked(mailOf(`AB\r\n${letters}`))).seen, odd));
  });
});

test("a zip at the back of a workbook says nothing about another that its records cut apart", async () => {
  const [large, small] = [zip([deflated("a.bin", randomBytes(20_000))]), zip([deflated("b.txt", payload)])];
  const { seen, doubt } = await walked(Buffer.concat([workbookStream(large), workbookStream(small), Buffer.alloc(99)]));
  assert.equal(doubt, undefined);
  assert.ok(has(seen, payload));
});

test("a PDF in the raw bytes of an archive says nothing: there its streams are in pieces", async () => {
  const archive = zip([stored("a.bin", randomBytes(100_000))]);
  const head = Buffer.from(`%PDF-1.3\n4 0 obj\n<< /Length ${archive.length} >>\nstream\n`);
  const pdf = Buffer.concat([head, archive, Buffer.from("\nendstream\nendobj\n%%EOF\n")]);
  // Blocks that are not compressed, with their own headers in between.
  const packed = deflateRawSync(pdf, { level: 0 });
  const member = packedAs(METHOD_DEFLATED, { name: "a.pdf", content: pdf, packed });
  const { doubt } = await walked(zip([stored("front", randomBytes(2000)), member]));
  assert.equal(doubt, undefined);
});

test("a zip that was packed once more can be seen in pieces, which says nothing", async () => {
  const inner = zip([stored("a.jpg", randomBytes(300_000))]);
  for (const file of [gzipSync(inner), deflateSync(inner), gzipSync(zip([deflated("a.zip", inner)]))])
    assert.equal((await walked(file)).doubt, undefined);
});
