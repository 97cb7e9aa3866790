import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { sessionPool } from "./session-pool.ts";

test("a session is kept while it leads to the same clamd, and says which, also while one from before is busy", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "clamd.sock");
  const server = createServer((socket) => socket.on("error", () => {}).resume()).listen(path);
  await once(server, "listening");
  let place = "one";
  let epoch = 1;
  const seen: string[] = [];
  const pool = sessionPool({
    address: { kind: "unix", path },
    slots: 3,
    connectTimeoutMs: 60_000,
    replyTimeoutMs: 60_000,
    idleMs: 60_000,
    place: () => place,
    epoch: () => epoch,
    onOpened: () => void seen.push("opened"),
    onGone: () => void seen.push("gone"),
    onFault: () => void seen.push("fault"),
  });
  const { signal } = new AbortController();
  const release = Promise.withResolvers<void>();
  const busy = Promise.withResolvers<void>();
  const held = pool.use(async (_, of) => {
    assert.equal(of, 1);
    busy.resolve();
    await release.promise;
  }, signal);
  await busy.promise;
  const use = (): Promise<unknown> => pool.use(async (_, of) => void seen.push(`used ${of}`), signal);
  place = "two";
  epoch = 2;
  await use();
  release.resolve();
  await held;
  await use();
  assert.deepEqual(seen, ["opened", "opened", "used 2", "used 2"], "the one to the second is kept");
  epoch = 3;
  await use();
  assert.deepEqual(seen.slice(4), ["opened", "used 3"], "of clamds without a place the epoch decides");

  // It leads elsewhere while the connection is made: nobody knows to whom.
  epoch = 4;
  const unclear = use();
  place = "three";
  await unclear;
  assert.deepEqual(seen.slice(6), ["opened", "used undefined"]);
  pool.close();
  server.close();
  await once(server, "close");
});
