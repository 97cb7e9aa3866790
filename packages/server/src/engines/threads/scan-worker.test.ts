import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { deflated, zip } from "../../../test/fixtures/zip-writer.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { sevenZipProgram } from "../../unpack/seven-zip.ts";
import { FULL_LIMITS } from "./scan-limits.ts";
import { startScanWorker } from "./scan-worker.ts";

test("a thread that is killed while its answer is on the way has given none", async () => {
  using folder = temporaryFolder();
  const worker = await startScanWorker({
    sevenZip: sevenZipProgram(),
    folder: folder.path,
    ignored: [],
    limits: FULL_LIMITS,
  });
  const file = { kind: "memory" as const, bytes: Uint8Array.from(zip([deflated("a.txt", Buffer.from("a payload"))])) };
  const other = {
    gets: "file" as const,
    opens: [],
    show: async () => ({ kind: "infected" as const, finding: "Payload", index: 0 }),
  };
  try {
    // Timers come next after this. The time is over while this thread is busy; members and an answer have arrived by then.
    await setImmediate();
    const looking = worker.look(file, { timeLimitMs: 1, signal: new AbortController().signal, other });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS);
    assert.deepEqual(await looking, { kind: "overrun" });
  } finally {
    await worker.stop();
  }
});

/** Long enough for the other thread to answer. If it is not, the test says nothing, and fails nobody. */
const BUSY_MS = 1500;
