import { parentPort } from "node:worker_threads";
import { deepLook } from "./deep-look.ts";
import type { DeepAnswer, DeepQuestion } from "./deep-looks.ts";

// A thread of its own for the deep look, so that bytes which make a parser run for ever cost a thread, not the service.
const look = await deepLook();
// The first look compiles what all later ones use.
await look({ head: new Uint8Array(1024), tail: new Uint8Array(0), sizeBytes: 1024 }, "data");

parentPort?.on("message", async ({ id, sample, quickKind }: DeepQuestion) => {
  const name = await look(sample, quickKind);
  parentPort?.postMessage({ kind: "answer", id, name } satisfies DeepAnswer);
});
parentPort?.postMessage({ kind: "ready" } satisfies DeepAnswer);
