import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../../test/support/leftovers.ts";
import { DatabaseUnavailable } from "./database-unavailable.ts";
import type { OperationName, Request } from "./operations.ts";
import { threadConnection } from "./thread-connection.ts";

const add: Request = { name: "add", args: { id: "a", job: { submittedAt: 0, counts: "{}", content: "{}" }, now: 1 } };
const counts: Request = { name: "counts", args: { now: 1 } };

test("a thread that dies fails what it was asked, and is replaced", async () => {
  using folder = temporaryFolder();
  const options = { path: join(folder.path, "jobs.db"), secretKey: Buffer.alloc(32, 1), busyTimeoutMs: 1000 };
  const connection = await threadConnection(options);
  await connection.run([add]);
  await assert.rejects(connection.run([{ name: "no such operation" as OperationName, args: {} }]), (error) => {
    assert.ok(error instanceof DatabaseUnavailable);
    assert.match(error.message, /its thread was lost/);
    return true;
  });
  const [outcome] = await connection.run([counts]);
  assert.equal(outcome?.kind === "value" && (outcome.value as { ready: number }).ready, 1);
  await connection.close();
});
