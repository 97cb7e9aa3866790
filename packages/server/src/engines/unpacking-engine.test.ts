import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { encryptedPdf } from "../../test/fixtures/corpus/encrypted-pdfs.ts";
import { type Handler, handlers } from "../../test/fixtures/corpus/pdf-encryption.ts";
import { deflated, zip } from "../../test/fixtures/zip-writer.ts";
import { type TestClamd, testClamd } from "../../test/support/clamd.ts";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { wholeBytes } from "../flow/whole-bytes.ts";
import type { Verdict } from "../model/verdict.ts";
import type { AskedDigest, Engine } from "../scan/engine.ts";
import { verdictCache } from "../scan/verdict-cache.ts";
import { type Clamd, clamd } from "./clamd/clamd.ts";
import { ruleThreads } from "./threads/scan-threads.ts";
import { unpackingEngine } from "./unpacking-engine.ts";
import { startEngine } from "./variants.ts";

/** Known by its hash only, and only to clamd. */
const known = Buffer.from("a payload that is known by its hash, and in no other way");
const ours = fileURLToPath(new URL("../../signatures/lazaret-test.ndb", import.meta.url));
const signatures = {
  "eicar.ndb": readFileSync(ours, "utf8"),
  "known.hsb": `${createHash("sha256").update(known).digest("hex")}:${known.length}:Known.By.Hash\n`,
};

describe("what is too much for clamd at once", () => {
  let daemon: TestClamd;
  let engine: Engine;
  before(async () => {
    daemon = await testClamd({ MaxFiles: "60" }, { signatures });
    engine = await startEngine({
      variant: "Q",
      clamd: { kind: "unix", path: daemon.socketPath },
      concurrency: 2,
    });
  });
  after(async () => {
    await engine.close();
    await daemon[Symbol.asyncDispose]();
  });

  const scan = (file: Buffer): Promise<Verdict> => engine.scan(once(file), new AbortController().signal);
  const members = Array.from({ length: 100 }, (_, index) => deflated(`${index}.txt`, Buffer.from(`member ${index}`)));

  test("is shown to it part by part, and is clean if all of them are", async () => {
    assert.deepEqual(await scan(zip(members)), { kind: "clean" });
    assert.deepEqual(await scan(gzipSync(zip(members))), { kind: "clean" });
  });

  test("is infected if one of the parts that it did not get to is", async () => {
    const verdict = await scan(zip([...members, deflated("last.txt", known)]));
    assert.deepEqual([verdict.kind, verdict.kind === "infected" && verdict.finding], ["infected", "Known.By.Hash"]);
  });

  test("the digest is told of all files, or of findings alone, whatever their size", async () => {
    const large = Buffer.concat([known, Buffer.alloc(2 * 1024 * 1024, 0xff)]);
    const toldOf = async (file: Buffer, of: AskedDigest["of"]): Promise<string[]> => {
      const told: string[] = [];
      await engine.scan(once(file), new AbortController().signal, { of, tell: (sha256) => void told.push(sha256) });
      return told;
    };
    const digest = (file: Buffer): string => createHash("sha256").update(file).digest("hex");
    const noise = Buffer.alloc(100, 0xff);
    assert.deepEqual(await toldOf(known, "all"), [digest(known)]);
    assert.deepEqual(await toldOf(known, "findings"), [digest(known)]);
    assert.deepEqual(await toldOf(noise, "all"), [digest(noise)]);
    assert.deepEqual(await toldOf(noise, "findings"), []);
    assert.deepEqual(await toldOf(large, "all"), [digest(large)]);
  });

  test("is not clean if it is a part by itself", async () => {
    // A mail is no archive: what stands around its parts is in no member.
    const parts = members.map(
      ({ name }) => `--b\r\nContent-Disposition: attachment; filename=${name}\r\n\r\n${name}\r\n`,
    );
    const mail = Buffer.from(
      `From: a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join("")}--b--\r\n`,
    );
    const verdict = await scan(zip([deflated("mail.eml", mail)]));
    assert.equal(verdict.kind, "unscannable");
    assert.match(verdict.kind === "unscannable" ? verdict.finding : "", /^Heuristics\.Limits\./);
  });
});

describe("a PDF that is encrypted to clamd, and opens without a password", () => {
  let daemon: TestClamd;
  let engine: Engine;
  let raw: Clamd;
  before(async () => {
    daemon = await testClamd({}, { signatures });
    const address = { kind: "unix", path: daemon.socketPath } as const;
    raw = clamd({ address, concurrency: 1 });
    engine = await startEngine({ variant: "Q", clamd: address, concurrency: 2 });
  });
  after(async () => {
    await Promise.all([engine.close(), raw.close()]);
    await daemon[Symbol.asyncDispose]();
  });

  const handler = handlers["AES of 256 bits, revision 6"] as Handler;
  const pdf = (content: Buffer, user = ""): Buffer =>
    encryptedPdf(content, { handler, place: "attachment", direct: true, user });
  const scan = (file: Buffer): Promise<Verdict> => engine.scan(once(file), new AbortController().signal);
  const harmless = Buffer.from("nothing to see here, and nobody minds");

  test("is clean if what is in it is, alone and in an archive", async () => {
    const said = await raw.scan(once(pdf(harmless)), new AbortController().signal);
    assert.deepEqual(said, { kind: "unscannable", finding: "Heuristics.Encrypted.PDF" });
    assert.deepEqual(await scan(pdf(harmless)), { kind: "clean" });
    assert.deepEqual(await scan(zip([deflated("a.txt", harmless), deflated("a.pdf", pdf(harmless))])), {
      kind: "clean",
    });
  });

  test("is infected if what is in it is", async () => {
    assert.equal((await scan(zip([deflated("a.pdf", pdf(known))]))).kind, "infected");
  });

  test("does not excuse another that needs a password", async () => {
    const both = zip([deflated("a.pdf", pdf(harmless)), deflated("b.pdf", pdf(harmless, "secret"))]);
    assert.equal((await scan(both)).kind, "unscannable");
  });
});

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

describe("a content that was scanned before", () => {
  const noise = (bytes: number, seed: string): Buffer => {
    const blocks = Array.from({ length: Math.ceil(bytes / 32) }, (_, index) =>
      createHash("sha256").update(`${seed} ${index}`).digest(),
    );
    return Buffer.concat(blocks).subarray(0, bytes);
  };
  const never = new AbortController().signal;

  test("is looked up, and its digest told to whoever asks", async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "own.yar"), 'rule Own { strings: $a = "\\xf1only ours\\xf2" condition: $a }');
    const threads = await ruleThreads({ rulesDir: folder.path, threads: 1 });
    const engine = unpackingEngine({ threads, cache: verdictCache(100) });
    const scanned = async (content: Buffer, asked?: AskedDigest): Promise<string> => {
      const verdict = await engine.scan(wholeBytes(content), never, asked);
      return `${verdict.kind}${verdict.kind !== "unscannable" && verdict.cached ? " cached" : ""}`;
    };
    const twice = async (content: Buffer): Promise<string[]> => [await scanned(content), await scanned(content)];
    try {
      const large = noise(100_000, "large");
      assert.deepEqual(await twice(large), ["clean", "clean cached"]);
      assert.equal(engine.cacheCounts?.().entries, 1);
      assert.deepEqual(await twice(noise(3000, "small")), ["clean", "clean cached"]);
      assert.deepEqual(await twice(zip([deflated("a.bin", noise(100_000, "zip"))])), ["clean", "clean cached"]);
      const ruled = Buffer.concat([large, Buffer.from("\xf1only ours\xf2", "latin1"), large]);
      assert.deepEqual(await twice(ruled), ["infected", "infected cached"]);
      // The digest is told to a caller who asks for it.
      const told: string[] = [];
      const asked: AskedDigest = { of: "all", tell: (digest) => void told.push(digest) };
      const [first, second] = [await scanned(large, asked), await scanned(large, asked)];
      assert.deepEqual([first, second], ["clean cached", "clean cached"]);
      const sha256 = (content: Buffer): string => createHash("sha256").update(content).digest("hex");
      assert.deepEqual(told, [sha256(large), sha256(large)]);
      const ofFindings: AskedDigest = { of: "findings", tell: (digest) => void told.push(digest) };
      for (const [first, second] of [
        [asked, ofFindings],
        [ofFindings, asked],
      ] as const) {
        const other = Buffer.concat([ruled, Buffer.from(first.of)]);
        told.length = 0;
        assert.deepEqual([await scanned(other, first), await scanned(other, second)], ["infected", "infected cached"]);
        assert.deepEqual(told, [sha256(other), sha256(other)]);
      }
      told.length = 0;
      assert.deepEqual(await scanned(noise(3000, "small"), ofFindings), "clean cached");
      assert.deepEqual(told, []);
    } finally {
      await engine.close();
    }
  });
});
