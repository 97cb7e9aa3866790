import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { listenForOthers, sendSeen } from "./for-others.ts";
import type { Seen } from "./handover.ts";

const seen: Seen = {
  process: 2,
  scans: [["clean", 3, 7]],
  failed: 0,
  recent: [],
  events: [],
  missed: false,
  work: { underWay: { requests: 0, jobs: 0 }, slots: { requests: 1, jobs: 1 } },
  failedActions: [],
};

test("the socket is for its owner alone, stands in the place of one that was left, and takes what others saw", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "console");
  writeFileSync(path, "left by one that was killed");
  const taken: Seen[] = [];
  await using stack = new AsyncDisposableStack();
  const server = await listenForOthers({
    path,
    handle: async ({ remote }) => ({ status: 200, text: remote }),
    take(given) {
      taken.push(given);
      return { heard: true };
    },
  });
  stack.defer(() => server.close(0));
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(await sendSeen(path)(seen), { heard: true });
  assert.deepEqual(taken, [seen]);
  const refused = await new Promise((resolve) => {
    request({ socketPath: path, path: "/seen", method: "POST" }, ({ statusCode }) => resolve(statusCode)).end("{");
  });
  assert.equal(refused, 400);
  await server.close(0);
  await assert.rejects(sendSeen(path)(seen), { code: "ENOENT" });
});
