// Loaded into the service by `npm run soak -- --leak …`: makes it leak a little with each request, to see that the soak notices.
import { subscribe } from "node:diagnostics_channel";
import { appendFileSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";

const { SOAK_LEAK: what = "", SOAK_LEAK_FOLDER: folder = "." } = process.env;
/** @type {Buffer[]} */
const kept = [];
let requests = 0;

/** @type {Record<string, () => void>} */
const leaks = {
  memory: () => kept.push(Buffer.alloc(100_000, requests)),
  handles: () => requests % 20 === 0 && openSync("/dev/null", "r"),
  files: () => requests % 20 === 0 && writeFileSync(join(folder, `leaked-${process.pid}-${requests}`), ""),
  database: () => appendFileSync(join(folder, "leaked.db"), Buffer.alloc(5000)),
  // As a list does that is searched from its beginning and only grows.
  time: () => {
    for (const until = performance.now() + requests / 20; performance.now() < until; );
  },
};

if (isMainThread) {
  subscribe("http.server.request.start", () => {
    requests += 1;
    leaks[what]?.();
  });
}
