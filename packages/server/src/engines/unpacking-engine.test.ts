import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { encryptedPdf } from "../../test/fixtures/corpus/encrypted-pdfs.ts";
import { type Handler, handlers } from "../../test/fixtures/corpus/pdf-encryption.ts";
import { type TestClamd, testClamd } from "../../test/support/clamd.ts";
import "../../test/support/leftovers.ts";
import { deflated, zip } from "../../test/fixtures/zip-writer.ts";
import type { Verdict } from "../model/verdict.ts";
import type { AskedDigest, Engine } from "../scan/engine.ts";
import { type Clamd, clamd } from "./clamd/clamd.ts";
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
