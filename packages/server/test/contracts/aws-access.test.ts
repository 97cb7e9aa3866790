import assert from "node:assert/strict";
import { test } from "node:test";
import { newSecret } from "../../src/access/api-key.ts";
import { followAccess } from "../../src/access/known-keys.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { startAws } from "../support/aws/aws-stores.ts";
import { type Fault, faultyProxy } from "../support/aws/faulty-proxy.ts";
import { atTheEnd } from "../support/leftovers.ts";

const servers = await startAws();
atTheEnd(() => servers[Symbol.asyncDispose]());

test("a key is taken away everywhere, also when the command that does so is killed at once", async () => {
  await using dynamodb = await faultyProxy(servers.dynamodb.endpoint);
  await using stores = await servers.stores({
    endpoints: { sqs: servers.sqs.endpoint, dynamodb: dynamodb.endpoint },
  });
  const { id, digest } = newSecret();
  const key = { id, digest, name: "web", tenant: "shop", scopes: ["scan"], madeAt: 1, limits: {} } as const;
  await stores.access.addKey(key);

  let known: readonly string[] = [];
  const onFailure = (error: Error): void => assert.fail(error);
  using following = await followAccess(stores.access, {
    everyMs: 3000,
    now: stores.now,
    onFailure,
    onChange: ({ keys }) => {
      known = keys.map((each) => each.id);
    },
  });
  const look = async (): Promise<readonly string[]> => {
    await stores.advance(30);
    await following.catchUp();
    return known;
  };
  assert.deepEqual(known, [id]);

  // A process may look at any moment in between.
  const dead: Fault = { kind: "refused", status: 400, code: "AccessDeniedException" };
  dynamodb.fault = (operation) => (operation === "DeleteItem" ? dead : undefined);
  await assert.rejects(stores.access.removeKey(id), QueueUnavailable);
  assert.deepEqual(await look(), [id]);

  let deleted = false;
  dynamodb.fault = (operation) => {
    if (deleted) return dead;
    deleted = operation === "DeleteItem";
    return undefined;
  };
  await assert.rejects(stores.access.removeKey(id), QueueUnavailable);
  dynamodb.fault = () => undefined;
  assert.deepEqual(await look(), []);

  // And with the next change all is as before: nothing is read that has not changed.
  await stores.access.addKey({ ...key, id: newSecret().id });
  assert.equal((await look()).length, 1);
  const before = dynamodb.asked.length;
  await look();
  assert.deepEqual(dynamodb.asked.slice(before), ["GetItem"]);
});
