import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { wholeBytes } from "../flow/whole-bytes.ts";
import { EngineUnavailable } from "../model/faults.ts";
import { type OpenedSource, SourceFailed, type UploadSource } from "../model/source.ts";
import type { Verdict } from "../model/verdict.ts";
import type { Admitted } from "../scan/admission.ts";
import type { Engine } from "../scan/engine.ts";
import { inspect, type Stages, tryToInspect } from "./inspect.ts";

const never = new AbortController().signal;

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

/** An engine that reads everything, or only so many chunks, and then answers so. */
function engine(verdict: Verdict, readsChunks = Number.POSITIVE_INFINITY): Engine {
  return {
    async scan(bytes) {
      let read = 0;
      for await (const _ of bytes) if (++read >= readsChunks) break;
      return verdict;
    },
    health: async () => ({ ready: true, checks: [] }),
    close: async () => {},
  };
}

function inspected(opened: OpenedSource, verdict: Verdict, options: { readsChunks?: number; maxBytes?: number } = {}) {
  const stages: Stages = { open: async () => opened, engine: engine(verdict, options.readsChunks), now: () => 0 };
  const source: UploadSource = { kind: "upload", ...opened };
  return inspect(source, stages, { maxBytes: options.maxBytes ?? 100, signal: never });
}

const clean: Verdict = { kind: "clean" };

test("a file that the engine read to its end gets the engine's verdict", async () => {
  const report = await inspected({ bytes: chunks("one", "two"), announcedBytes: 6 }, clean);
  assert.deepEqual([report.verdict, report.sizeBytes], [clean, 6]);
});

test("a file that is all here is counted and compared with its announced length, as any other", async () => {
  const text = wholeBytes(Buffer.from("onetwo"));
  const report = await inspected({ bytes: text, announcedBytes: 6 }, clean);
  assert.deepEqual([report.verdict, report.sizeBytes], [clean, 6]);
  const short = await inspected({ bytes: text, announcedBytes: 7 }, clean);
  assert.deepEqual([short.verdict.kind, short.failure?.code], ["unscannable", "wrong_length"]);
  const large = await inspected({ bytes: text }, clean, { maxBytes: 5 });
  assert.deepEqual([large.verdict.kind, large.failure?.code], ["unscannable", "scanner:too-big"]);
  await assert.rejects(inspected({ bytes: text }, clean, { readsChunks: 1 }), EngineUnavailable);
});

test("never reports clean when the engine stopped before the last byte", async () => {
  await assert.rejects(inspected({ bytes: chunks("one", "two") }, clean, { readsChunks: 1 }), EngineUnavailable);
});

test("never reports clean when the engine stopped before the last byte of a file that was received before", async () => {
  const admit = async (bytes: AsyncIterable<Uint8Array>): Promise<Admitted> => {
    const all = await Array.fromAsync(bytes);
    return {
      bytes: (async function* () {
        yield* all;
      })(),
      leave: () => {
        left += 1;
      },
    };
  };
  let left = 0;
  for (const readsChunks of [1, Number.POSITIVE_INFINITY]) {
    const source: UploadSource = { kind: "upload", bytes: chunks("one", "two") };
    const stages: Stages = { open: async () => source, engine: engine(clean, readsChunks), now: () => 0 };
    const outcome = inspect(source, stages, { maxBytes: 100, signal: never, admit });
    if (readsChunks === 1) await assert.rejects(outcome, EngineUnavailable);
    else assert.deepEqual((await outcome).verdict, clean);
  }
  assert.equal(left, 2);
});

test("an engine that fails before it reads leaves no source open", async () => {
  let closed = false;
  const endless = (async function* (): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.from("x");
    } finally {
      closed = true;
    }
  })();
  await endless.next();
  const failing: Engine = { ...engine(clean), scan: () => Promise.reject(new EngineUnavailable("nobody there")) };
  const source: UploadSource = { kind: "upload", bytes: endless };
  const stages: Stages = { open: async () => source, engine: failing, now: () => 0 };
  await assert.rejects(inspect(source, stages, { maxBytes: 100, signal: never }), EngineUnavailable);
  await new Promise(setImmediate);
  assert.equal(closed, true);
});

test("never reports clean when fewer or more bytes came than were announced", async () => {
  for (const announcedBytes of [5, 7]) {
    const report = await inspected({ bytes: chunks("one", "two"), announcedBytes }, clean);
    assert.deepEqual([report.verdict.kind, report.failure?.code], ["unscannable", "wrong_length"]);
  }
});

test("a file of exactly the limit is scanned, one byte more is too big", async () => {
  assert.equal((await inspected({ bytes: chunks("12345") }, clean, { maxBytes: 5 })).verdict.kind, "clean");
  for (const opened of [{ bytes: chunks("123456") }, { bytes: chunks(), announcedBytes: 6 }]) {
    const report = await inspected(opened, clean, { maxBytes: 5 });
    assert.deepEqual(report.verdict, { kind: "unscannable", finding: "scanner:too-big" });
  }
});

test("a source that breaks in mid-stream becomes a report, a fault does not", async () => {
  async function* broken(error: Error): AsyncGenerator<Uint8Array> {
    yield Buffer.from("half");
    throw error;
  }
  const failure = { finding: "scanner:download-failed", code: "ECONNRESET", message: "it broke", passing: true };
  const report = await inspected({ bytes: broken(new SourceFailed(failure)) }, clean);
  assert.deepEqual([report.verdict.kind, report.failure], ["unscannable", failure]);
  await assert.rejects(inspected({ bytes: broken(new Error("a bug")) }, clean), /a bug/);
});

test("reading ends when the signal aborts, also while the source is silent", async () => {
  const stop = new AbortController();
  async function* silent(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("x");
    await new Promise(() => {});
  }
  const opened = { bytes: silent() };
  const stages: Stages = { open: async () => opened, engine: engine(clean), now: () => 0 };
  const report = inspect({ kind: "upload", ...opened }, stages, { maxBytes: 100, signal: stop.signal });
  setImmediate(() => stop.abort(new Error("given up")));
  await assert.rejects(report, /given up/);
});

describe("a scan with a time limit", () => {
  const silent = (async function* (): AsyncGenerator<Uint8Array> {
    await new Promise(() => {});
    yield Buffer.from("never");
  })();
  const source: UploadSource = { kind: "upload", bytes: silent };

  test("that is not done by then is not scannable, which is a report and no fault; it counts as no scan", async () => {
    const account = { tenant: "shop", key: "web" };
    let scanned = 0;
    const stages: Stages = {
      open: async () => source,
      engine: engine(clean),
      now: () => 0,
      onScanned(whose, bytes) {
        assert.deepEqual([whose, bytes], [account, 3]);
        scanned += 1;
      },
    };
    const report = await inspect(source, stages, { account, maxBytes: 100, maxSeconds: 0.02, signal: never });
    const verdict = { kind: "unscannable", finding: "scanner:timeout", detail: "not done within 0.02 s" };
    assert.deepEqual(report, { verdict, sizeBytes: 0, downloadSeconds: 0.02, scanSeconds: 0 });
    assert.equal(scanned, 0);
    const bytes = { kind: "upload", bytes: chunks("one") } as const;
    await inspect(
      bytes,
      { ...stages, open: async () => bytes },
      { account, maxBytes: 100, maxSeconds: 60, signal: never },
    );
    assert.equal(scanned, 1);
  });

  test("without end has no limit", async () => {
    const late = (async function* () {
      await new Promise((resolve) => setTimeout(resolve, 20));
      yield Buffer.from("one");
    })();
    const slow = { kind: "upload", bytes: late } as const;
    const stages: Stages = { open: async () => slow, engine: engine(clean), now: () => 0 };
    const options = { maxBytes: 100, maxSeconds: Number.POSITIVE_INFINITY, signal: never };
    assert.deepEqual((await inspect(slow, stages, options)).verdict, clean);
  });

  test("that is given up before is given up, and not reported as late", async () => {
    const stages: Stages = { open: async () => source, engine: engine(clean), now: () => 0 };
    const stopped = AbortSignal.abort(new Error("we stop"));
    await assert.rejects(inspect(source, stages, { maxBytes: 100, maxSeconds: 60, signal: stopped }), /we stop/);
  });

  test("an engine that fails by itself is a fault, also with time left", async () => {
    const failing: Engine = { ...engine(clean), scan: () => Promise.reject(new EngineUnavailable("nobody there")) };
    const bytes = { kind: "upload", bytes: chunks("one") } as const;
    const stages: Stages = { open: async () => bytes, engine: failing, now: () => 0 };
    await assert.rejects(inspect(bytes, stages, { maxBytes: 100, maxSeconds: 60, signal: never }), EngineUnavailable);
  });
});

describe("a try that ends because we stop", () => {
  const counts = { failedDownloads: 0, failedScans: 0 };
  const stopped = AbortSignal.abort(new Error("we stop"));
  const onEngineFault = (): void => assert.fail("the engine is not to blame");

  test("blames neither the engine nor the source", async () => {
    const fault = () => Promise.reject(new EngineUnavailable("the connection was closed", { whileScanning: true }));
    await assert.rejects(tryToInspect(counts, { inspect: fault, onEngineFault, signal: stopped }), EngineUnavailable);
    const failure = { finding: "scanner:download-failed", code: "HTTP_500", message: "it broke", passing: false };
    const verdict = { kind: "unscannable", finding: failure.finding } as const;
    const cut = async () => ({ verdict, sizeBytes: 0, downloadSeconds: 0, scanSeconds: 0, failure });
    await assert.rejects(tryToInspect(counts, { inspect: cut, onEngineFault, signal: stopped }), /we stop/);
  });

  test("keeps a verdict that was there before", async () => {
    const report = { verdict: clean, sizeBytes: 3, downloadSeconds: 0, scanSeconds: 0 };
    const options = { inspect: async () => report, onEngineFault, signal: stopped };
    assert.deepEqual(await tryToInspect(counts, options), { kind: "scanned", report });
  });
});
