import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bucket } from "../../../../test/support/s3-server/bucket.ts";
import type { S3Answer } from "../../../../test/support/s3-server/operations.ts";
import type { S3ServerOptions } from "../../../../test/support/s3-server/s3-server.ts";
import { type S3Store, s3Store } from "../../../../test/support/s3-server/s3-store.ts";
import { until } from "../../../../test/support/until.ts";
import type { SeenObject } from "../../../model/source.ts";
import "../../../../test/support/leftovers.ts";

const clean = { key: "scanner", value: "clean" };

test("a tag that comes while another file takes the object's place is taken off again", async () => {
  await using made = await withObject();
  meanwhile(made, "GetObjectTagging", () => replace(made.bucket));
  assert.equal(await made.store.tag(made.seen, clean), "changed");
  assert.deepEqual(tagsOf(made.bucket), {});
});

test("a file that took the object's place before it was tagged keeps its tags", async () => {
  await using made = await withObject();
  replace(made.bucket, { owner: "me" });
  assert.equal(await made.store.tag(made.seen, clean), "changed");
  assert.deepEqual(tagsOf(made.bucket), { owner: "me" });
});

test("a file with the same entity tag is another one, if it came at another time", async () => {
  await using made = await withObject();
  made.clock.aheadMs += 2000;
  made.bucket.put("key", Buffer.from("text"));
  assert.equal(await made.store.tag(made.seen, clean), "changed");
  assert.equal(await made.store.delete(made.seen), "changed");
  assert.deepEqual(tagsOf(made.bucket), {});
});

test("a tag that is there already is not written again", async () => {
  await using made = await withObject();
  assert.equal(await made.store.tag(made.seen, clean), "done");
  assert.equal(await made.store.tag(made.seen, clean), "done");
  assert.equal(made.server.requests.filter(({ operation }) => operation === "PutObjectTagging").length, 1);
});

test("an object that has ten other tags cannot be tagged, and keeps them", async () => {
  await using made = await withObject();
  const ten = new Map(Array.from({ length: 10 }, (_, index) => [`tag-${index}`, "value"]));
  made.bucket.find("key", undefined).tags = ten;
  await assert.rejects(made.store.tag(made.seen, clean), /^Error: cannot tag the object: it has 10 other tags/);
  assert.equal(made.bucket.find("key", undefined).tags, ten);

  made.bucket.find("key", undefined).tags = new Map([...ten].slice(1)).set("scanner", "no");
  assert.equal(await made.store.tag(made.seen, clean), "done");
  assert.equal(made.bucket.find("key", undefined).tags.get("scanner"), "clean");
});

test("a store that has a name for having no tags is understood", async () => {
  await using made = await withObject();
  made.server.fail({ kind: "refuse", status: 404, code: "NoSuchTagSet" }, { operation: "GetObjectTagging", times: 1 });
  assert.equal(await made.store.tag(made.seen, clean), "done");
  assert.deepEqual(tagsOf(made.bucket), { scanner: "clean" });
});

test("a store that forgets to say which tags there are costs an object none of them", async () => {
  await using made = await withObject();
  made.bucket.find("key", undefined).tags = new Map([["owner", "me"]]);
  const change = (answer: S3Answer): S3Answer => ({ ...answer, body: "" });
  made.server.fail({ kind: "garble", change }, { operation: "GetObjectTagging" });
  await assert.rejects(made.store.tag(made.seen, clean), /cannot be understood \(bad_response\)$/);
  assert.deepEqual(tagsOf(made.bucket), { owner: "me" });
});

test("an object from before the bucket had versions is tagged and deleted by itself", async () => {
  await using made = await withObject();
  made.bucket.versioning = "enabled";
  const newer = made.bucket.put("key", Buffer.from("newer"));
  const { bytes, object } = await made.store.open({ bucket: "bucket", key: "key", version: "null" }, made.signal);
  assert.equal(String(Buffer.concat(await Array.fromAsync(bytes))), "text");
  assert.equal(object.version, "null");

  assert.equal(await made.store.tag(object, clean), "done");
  assert.deepEqual(tagsOf(made.bucket, "null"), { scanner: "clean" });
  assert.deepEqual(tagsOf(made.bucket, newer.id), {});
  assert.equal(await made.store.delete(object), "done");
  assert.equal(made.bucket.peek("key", "null"), undefined);
  assert.equal(made.bucket.peek("key"), newer);
});

test("an object that was scanned before its bucket got versions is deleted, not hidden", async () => {
  await using made = await withObject();
  made.bucket.versioning = "enabled";
  assert.equal(await made.store.delete(made.seen), "done");
  assert.equal(made.bucket.peek("key"), undefined);
});

test("a file that takes the object's place at the last moment is not deleted", async () => {
  await using made = await withObject();
  meanwhile(made, "HeadObject", () => replace(made.bucket));
  assert.equal(await made.store.delete(made.seen), "changed");
  assert.equal(String(made.bucket.find("key", undefined).bytes), "another");
});

for (const conditionalDelete of ["ignored", "refused"] as const) {
  test(`where conditions are ${conditionalDelete} an object is compared, then deleted`, async () => {
    await using made = await withObject({ conditionalDelete });
    replace(made.bucket);
    assert.equal(await made.store.delete(made.seen), "changed");
    const { object } = await made.store.open({ bucket: "bucket", key: "key" }, made.signal);
    assert.equal(await made.store.delete(object), "done");
    assert.equal(made.bucket.peek("key"), undefined);
  });
}

test("what goes while it is deleted counts as done", async () => {
  await using made = await withObject();
  meanwhile(made, "HeadObject", () => made.bucket.remove("key", undefined));
  assert.equal(await made.store.delete(made.seen), "done");
});

test("a store that forbids it or is in trouble is told with its code, and without secrets", async () => {
  await using made = await withObject();
  for (const [status, code, words] of [
    [403, "AccessDenied", /: access is denied \(AccessDenied\)$/],
    [500, "InternalError", /: the store answered 500 \(InternalError\)$/],
  ] as const) {
    made.server.recover();
    made.server.fail({ kind: "refuse", status, code }, { operation: "PutObjectTagging" });
    made.server.fail({ kind: "refuse", status, code }, { operation: "DeleteObject" });
    for (const act of [() => made.store.tag(made.seen, clean), () => made.store.delete(made.seen)]) {
      await assert.rejects(act, (error: Error) => {
        assert.match(error.message, words);
        assert.equal(error.cause, undefined);
        return true;
      });
    }
  }
  assert.deepEqual(tagsOf(made.bucket), {});
});

for (const fault of [{ kind: "hang" }, { kind: "drip", everyMs: 5 }] as const) {
  test(`a store whose answers ${fault.kind} is let go when the signal aborts, with the connection`, async () => {
    await using made = await withObject();
    for (const operation of ["PutObjectTagging", "DeleteObject"]) made.server.fail(fault, { operation });
    for (const act of [
      (signal: AbortSignal) => made.store.tag(made.seen, clean, signal),
      (signal: AbortSignal) => made.store.delete(made.seen, signal),
    ]) {
      const stop = new AbortController();
      const acting = act(stop.signal);
      await until("the store is asked", () => made.server.underWay > 0);
      await new Promise((resolve) => setTimeout(resolve, 30));
      stop.abort(new Error("the time is up"));
      await assert.rejects(acting, /the time is up/);
      await until("the connection is closed", () => made.server.underWay === 0);
    }
  });
}

test("access that is denied to the state of an object is not taken for its absence", async () => {
  await using made = await withObject();
  made.server.fail({ kind: "refuse", status: 403, code: "AccessDenied" }, { operation: "HeadObject" });
  await assert.rejects(made.store.tag(made.seen, clean), /^Error: cannot tag the object: access is denied/);
  await assert.rejects(made.store.delete(made.seen), /^Error: cannot delete the object: access is denied/);
});

interface WithObject extends S3Store {
  bucket: Bucket;
  seen: SeenObject;
  clock: { aheadMs: number };
}

/** An object in a bucket without versions, as it was scanned. */
async function withObject(options: S3ServerOptions = {}): Promise<WithObject> {
  const clock = { aheadMs: 0 };
  const made = await s3Store({ ...options, now: () => Date.now() + clock.aheadMs });
  const bucket = made.server.bucket("bucket");
  bucket.put("key", Buffer.from("text"));
  const { bytes, object } = await made.store.open({ bucket: "bucket", key: "key" }, made.signal);
  await Array.fromAsync(bytes);
  return { ...made, bucket, seen: object, clock };
}

/** Right after the store worked out its next answer to that, and before anybody has it. */
function meanwhile({ server }: S3Store, operation: string, happens: () => void): void {
  const change = (answer: S3Answer): S3Answer => {
    happens();
    return answer;
  };
  server.fail({ kind: "garble", change }, { operation, times: 1 });
}

function replace(bucket: Bucket, tags: Record<string, string> = {}): void {
  bucket.put("key", Buffer.from("another"), new Map(Object.entries(tags)));
}

function tagsOf(bucket: Bucket, version?: string): Record<string, string> {
  return Object.fromEntries(bucket.find("key", version).tags);
}
