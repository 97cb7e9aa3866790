import assert from "node:assert/strict";
import { test } from "node:test";
import { s3Store } from "../../../../test/support/s3-server/s3-store.ts";
import { SourceFailed } from "../../../model/source.ts";
import "../../../../test/support/leftovers.ts";

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
