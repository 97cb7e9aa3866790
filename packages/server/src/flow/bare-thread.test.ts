import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { bareThread } from "./bare-thread.ts";

const MIB = 1024 * 1024;

/** Leaves so much behind, some of it for a while, that the nursery has its full size, and tells that. */
const CHURN = `
  const kept = [];
  for (let at = 0; at < 2e6; at += 1) kept[at % 1000] = { at, all: [at] };
  const spaces = require("node:v8").getHeapSpaceStatistics();
  require("node:worker_threads").parentPort.postMessage(spaces.find(({ space_name }) => space_name === "new_space").space_size);
`;

async function nurseryOf(options: ConstructorParameters<typeof Worker>[1]): Promise<unknown> {
  const thread = new Worker(CHURN, { eval: true, ...options });
  const [[bytes]] = await Promise.all([once(thread, "message"), once(thread, "exit")]);
  return bytes;
}

test("a thread has the nursery that it asks for, and not that of the process", async () => {
  // As Node is started for the service.
  for (const flag of ["--min-semi-space-size=8", "--max-semi-space-size=8"]) setFlagsFromString(flag);
  assert.equal(await nurseryOf(bareThread()), 2 * MIB, "two halves of 1 MiB");
  const more = { ...bareThread(), resourceLimits: { maxYoungGenerationSizeMb: 8 } };
  assert.equal(await nurseryOf(more), 8 * MIB);
});
