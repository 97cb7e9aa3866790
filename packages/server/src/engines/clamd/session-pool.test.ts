import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { sessionPool } from "./session-pool.ts";

test("a session to another clamd is told of before it is used, also while one from before is busy", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "clamd.sock");
  const server = createServer((socket) => socket.on("error", () => {}).resume()).listen(path);
  await once(server, "listening");
  let place = "one";
  const seen: string[] = [];
  const pool = sessionPool({
    address: { kind: "unix", path },
    slots: 3,
    connectTimeoutMs: 60_000,
    replyTimeoutMs: 60_000,
    idleMs: 60_000,
    place: () => place,
    onOpened: () => void seen.push("opened"),
    onGone: () => void seen.push("gone"),
    onFault: () => void seen.push("fault"),
  });
  const { signal } = new AbortController();
  const release = Promise.withResolvers<void>();
  const busy = Promise.withResolvers<void>();
  const held = pool.use(async () => {
    busy.resolve();
    await release.promise;
  }, signal);
  await busy.promise;
  place = "two";
  await pool.use(async () => void seen.push("used"), signal);
  assert.deepEqual(seen, ["opened", "opened", "gone", "used"]);
  release.resolve();
  await held;
  await pool.use(async () => void seen.push("used"), signal);
  assert.deepEqual(seen.slice(4), ["used"], "the one to the second is kept");
  pool.close();
  server.close();
  await once(server, "close");
});
