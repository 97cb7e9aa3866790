import assert from "node:assert/strict";
import { test } from "node:test";
import { type S3Store, s3Store, useCredentials } from "../../../../test/support/s3-server/s3-store.ts";
import { toldClock } from "../../../../test/support/told-clock.ts";
import { linkAddress } from "../../../fetch/object-reader.ts";
import { SourceFailed } from "../../../model/source.ts";
import { s3Objects } from "./objects.ts";
import "../../../../test/support/leftovers.ts";

const HALF_DAY = 12 * 3600;
const oddKey = "//a b/+%20?#&=é👾'()*!~";

test("a link leads to the object for as long as it was meant to", async () => {
  const clock = toldClock();
  await using made = await withVersions({ now: clock.now });
  const link = await made.store.link({ bucket: "bucket", key: oddKey }, HALF_DAY);
  assert.equal(await textAt(link), "newer");
  clock.advance(HALF_DAY - 3600);
  assert.equal(await textAt(link), "newer");
  clock.advance(3601);
  assert.equal((await fetch(link)).status, 403);
});

test("a link to a version leads to that version", async () => {
  await using made = await withVersions();
  assert.equal(
    await textAt(await made.store.link({ bucket: "bucket", key: oddKey, version: made.older }, 60)),
    "older",
  );
});

test("a link that was tampered with leads nowhere", async () => {
  await using made = await withVersions();
  const link = await made.store.link({ bucket: "bucket", key: oddKey, version: made.older }, 60);
  for (const tampered of [
    link.replace("X-Amz-Expires=60", "X-Amz-Expires=6000"),
    link.replace(made.older, made.newer),
    link.replace("/bucket/", "/another/"),
    link.replace(/X-Amz-Signature=./, (found) => (found.endsWith("0") ? "X-Amz-Signature=1" : "X-Amz-Signature=0")),
    linkAddress(link),
  ]) {
    assert.notEqual(tampered, link);
    assert.equal((await fetch(tampered)).status, 403, tampered);
  }
});

test("a link without its signature still tells the object and its version", async () => {
  await using made = await withVersions();
  const { endpoint } = made.server;
  const plain = await made.store.link({ bucket: "bucket", key: "a/../b" }, 60);
  assert.equal(linkAddress(plain), `${endpoint}/bucket/a/../b`);
  const versioned = await made.store.link({ bucket: "bucket", key: "key", version: made.older }, 60);
  assert.equal(linkAddress(versioned), `${endpoint}/bucket/key?versionId=${made.older}`);
});

test("a link is made without asking the store", async () => {
  await using made = await withVersions();
  await made.store.link({ bucket: "nowhere", key: "nothing" }, 60);
  assert.equal(made.server.requests.length, 0);
});

test("a link needs credentials, and a name that can be", async () => {
  await using made = await withVersions();
  await assert.rejects(
    made.store.link({ bucket: "..", key: "key" }, 60),
    /^Error: cannot make a link to the object: bucket must/,
  );
  useCredentials();
  const store = await s3Objects({ endpoint: made.server.endpoint, forcePathStyle: true });
  await assert.rejects(
    store.link({ bucket: "bucket", key: "key" }, 60),
    /^Error: cannot make a link to the object: there are no credentials/,
  );
  await store.close();
});

test("AWS itself is not used without a region, an endpoint is", async () => {
  useCredentials();
  await assert.rejects(s3Objects({}), /^Error: cannot use S3: no region is set/);
  await (await s3Objects({ endpoint: "http://127.0.0.1:1" })).close();
  process.env.AWS_REGION = "eu-west-1";
  await (await s3Objects({})).close();
});

test("keys are sent as they are: dots, slashes and what else URLs take for their own", async () => {
  await using made = await s3Store();
  const bucket = made.server.bucket("bucket");
  const keys = [
    ".",
    "..",
    "../../etc/passwd",
    "a/../b",
    "a/./b",
    "/a",
    "//a//",
    "a/",
    "?versionId=x",
    "a#b",
    "%2e%2e",
    "%",
  ];
  for (const key of [...keys, oddKey, " a ", "a\\b", "a\r\nb", "\0", "\u202e", "a;b=c&d"]) {
    bucket.put(key, Buffer.from(key));
    const { bytes, object } = await made.store.open({ bucket: "bucket", key }, made.signal);
    assert.equal(String(Buffer.concat(await Array.fromAsync(bytes))), key);
    assert.equal(await made.store.tag(object, { key: "scanner", value: "clean" }), "done");
    assert.equal(bucket.find(key, undefined).tags.get("scanner"), "clean");
    assert.equal(await made.store.delete(object), "done");
    assert.equal(bucket.peek(key), undefined);
  }
});

test("a bucket of more than one page is listed whole and in order, from wherever one left off", async () => {
  await using made = await s3Store();
  const bucket = made.server.bucket("bucket");
  const keys = Array.from({ length: 2500 }, (_, index) => `file-${String(index).padStart(5, "0")}`);
  for (const key of keys) bucket.put(key, Buffer.from(key));
  bucket.put("other", Buffer.from(""));

  const listed = await Array.fromAsync(made.store.list("bucket", { prefix: "file-" }), ({ key }) => key);
  assert.deepEqual(listed, keys);
  assert.deepEqual(
    made.server.requests.map(({ query }) => query.has("continuation-token")),
    [false, true, true],
  );
  const rest = await Array.fromAsync(made.store.list("bucket", { prefix: "file-", after: "file-01233" }), (e) => e.key);
  assert.deepEqual(rest, keys.slice(1234));
});

test("a server that writes keys as they are is understood, plus signs and percents too", async () => {
  await using made = await s3Store();
  made.server.bucket("bucket").put("a+b%20c <&>", Buffer.from("text"));
  for (const encoded of [true, false]) {
    made.server.recover();
    if (!encoded) {
      made.server.fail({
        kind: "garble",
        change: ({ body, ...rest }) => ({
          ...rest,
          body: String(body)
            .replace("<EncodingType>url</EncodingType>", "")
            .replace(/<Key>.*<\/Key>/, "<Key>a+b%20c &lt;&amp;&gt;</Key>"),
        }),
      });
    }
    const [listed] = await Array.fromAsync(made.store.list("bucket"));
    assert.equal(listed?.key, "a+b%20c <&>");
  }
});

for (const [name, fault, finding, passing] of [
  ["a bucket that may not be listed", { status: 403, code: "AccessDenied" }, "scanner:object-access-denied", false],
  ["a store in trouble", { status: 500, code: "InternalError" }, "scanner:download-failed", true],
] as const) {
  test(`${name} fails as such`, async () => {
    await using made = await s3Store();
    made.server.bucket("bucket");
    made.server.fail({ kind: "refuse", ...fault });
    const { failure } = await rejected(made.store.list("bucket"));
    assert.deepEqual([failure.finding, failure.code, failure.passing], [finding, fault.code, passing]);
    assert.match(failure.message, /^cannot list the bucket: /);
  });
}

test("a list that is cut, is no XML or leads round in circles is not taken for the whole", async () => {
  await using made = await s3Store();
  const bucket = made.server.bucket("bucket");
  for (let index = 0; index < 100; index += 1) bucket.put(`file-${index}`, Buffer.from(""));
  for (const change of [
    (body: string): string => body.slice(0, body.length / 2),
    (): string => "this is no XML",
    (): string => "",
    (body: string): string => body.replace("<IsTruncated>false", "<IsTruncated>true"),
    (body: string): string => body.replace("<Key>file-0", "<Key>file-%zz"),
    (body: string): string =>
      body.replace("<IsTruncated>false", "<NextContinuationToken>x</NextContinuationToken><IsTruncated>true"),
  ]) {
    made.server.recover();
    made.server.fail({ kind: "garble", change: ({ body, ...rest }) => ({ ...rest, body: change(String(body)) }) });
    const { failure } = await rejected(made.store.list("bucket"));
    assert.deepEqual([failure.finding, failure.passing], ["scanner:download-failed", true]);
  }
});

async function rejected(list: AsyncIterable<unknown>): Promise<SourceFailed> {
  try {
    await Array.fromAsync(list);
  } catch (error) {
    if (error instanceof SourceFailed) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: "the bucket was listed" });
}

async function withVersions(
  options: Parameters<typeof s3Store>[0] = {},
): Promise<S3Store & { older: string; newer: string }> {
  const made = await s3Store(options);
  const bucket = made.server.bucket("bucket", "enabled");
  const older = bucket.put(oddKey, Buffer.from("older")).id;
  const newer = bucket.put(oddKey, Buffer.from("newer")).id;
  return { ...made, older, newer };
}

async function textAt(link: string): Promise<string> {
  const response = await fetch(link);
  assert.equal(response.status, 200);
  return response.text();
}
