import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { testClamd } from "../../test/support/clamd.ts";
import { clamdProxy } from "../../test/support/clamd-proxy.ts";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { eicarSignature } from "../../test/support/signatures.ts";
import { until } from "../../test/support/until.ts";
import { wholeBytes } from "../flow/whole-bytes.ts";
import { EngineUnavailable } from "../model/faults.ts";
import type { Engine } from "../scan/engine.ts";
import { pdf } from "./clamd/canary-files.ts";
import { clamd } from "./clamd/clamd.ts";
import { type ScanThreads, unpackThreads } from "./threads/scan-threads.ts";
import { unpackingEngine } from "./unpacking-engine.ts";

/** Known by its hash only: who does not open the PDF that it is in does not find it. */
const known = randomBytes(3 * 1024 * 1024);
const small = Buffer.from("a small payload that is known by its hash");
const signatures = {
  "eicar.ndb": eicarSignature,
  "known.hsb": [known, small].map((each) => `${sha256(each)}:${each.length}:Known.By.Hash\n`).join(""),
};
const { signal } = new AbortController();

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function closing(engine: Engine): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => engine.close() };
}

test("a file that was being sent to one clamd while another took its place is not clean by what the other opens", async () => {
  using folder = temporaryFolder();
  await using narrow = await testClamd({ ScanPDF: "no" }, { signatures });
  await using broad = await testClamd({}, { signatures });
  const link = join(folder.path, "clamd.sock");
  const pointTo = (path: string): void => {
    symlinkSync(path, `${link}.draft`);
    renameSync(`${link}.draft`, link);
  };
  pointTo(narrow.socketPath);
  const address = { kind: "unix", path: link } as const;
  const scanner = clamd({ address, concurrency: 2, temporaryDir: folder.path, switches: true });
  const engine = unpackingEngine({ threads: unpackThreads(), clamd: scanner });
  await using _ = closing(engine);

  const most = Promise.withResolvers<void>();
  const rest = Promise.withResolvers<void>();
  async function* slowly(): AsyncGenerator<Uint8Array> {
    const file = pdf(deflateSync(known, { level: 1 }));
    for (let at = 0; at < file.length; at += 64 * 1024) {
      if (file.length - at < 256 * 1024) {
        most.resolve();
        await rest.promise;
      }
      yield file.subarray(at, at + 64 * 1024);
    }
  }
  const verdict = engine.scan(slowly(), signal);
  await most.promise;
  pointTo(broad.socketPath);
  await until("the other has shown what it opens", async () => {
    assert.equal((await engine.scan(wholeBytes(Buffer.from("fine")), signal)).kind, "clean");
    return scanner.opens().has("pdf/flate");
  });
  rest.resolve();
  assert.equal((await verdict).kind, "infected");
});

test("a file that waited while clamd was started again with other settings is not clean by what it opened before", async () => {
  using folder = temporaryFolder();
  await using broad = await testClamd({}, { signatures });
  await using narrow = await testClamd({ ScanPDF: "no" }, { signatures });
  await using proxy = await clamdProxy(broad.socketPath, join(folder.path, "clamd.sock"));
  const threads = unpackThreads();
  let unpacked = 0;
  const run: ScanThreads["run"] = async (...args) => {
    const outcome = await threads.run(...args);
    unpacked += 1;
    return outcome;
  };
  const scanner = clamd({ address: proxy.address, concurrency: 1, temporaryDir: folder.path });
  const engine = unpackingEngine({ threads: { ...threads, run }, clamd: scanner });
  await using _ = closing(engine);
  assert.equal((await engine.scan(wholeBytes(Buffer.from("fine")), signal)).kind, "clean");
  assert.ok(scanner.opens().has("pdf/flate"));

  // The one session is taken by a file that does not end.
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(2 * 1024 * 1024);
    begun.resolve();
    await end.promise;
  }
  const first = engine.scan(endless(), signal);
  await begun.promise;
  const second = engine.scan(wholeBytes(pdf(deflateSync(small))), signal);
  await until("it is unpacked", () => unpacked === 1);
  proxy.leadTo(narrow.socketPath);
  assert.equal((await second).kind, "infected");
  end.resolve();
  await assert.rejects(first, EngineUnavailable);
});
