import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
  type S3ServiceException,
} from "@aws-sdk/client-s3";
import { type S3Server, s3Server } from "./s3-server.ts";
import "../leftovers.ts";

const named = { Bucket: "bucket", Key: "a b/é" };

test("the SDK makes a bucket with versions, writes with tags, reads, deletes and restores", async () => {
  await using server = await s3Server();
  const user = userOf(server);
  await user.send(new CreateBucketCommand({ Bucket: "bucket" }));
  const versioning = { Bucket: "bucket", VersioningConfiguration: { Status: "Enabled" as const } };
  await user.send(new PutBucketVersioningCommand(versioning));
  const { VersionId, ETag } = await user.send(new PutObjectCommand({ ...named, Body: "text", Tagging: "a=1&b=x%26y" }));
  assert.equal(ETag, '"1cb251ec0d568de6a929b520c4aed8d1"');

  const read = await user.send(new GetObjectCommand(named));
  assert.equal(await read.Body?.transformToString(), "text");
  assert.equal(read.VersionId, VersionId);
  const { TagSet } = await user.send(new GetObjectTaggingCommand(named));
  assert.deepEqual(TagSet, [
    { Key: "a", Value: "1" },
    { Key: "b", Value: "x&y" },
  ]);

  const marker = await user.send(new DeleteObjectCommand(named));
  assert.equal(marker.DeleteMarker, true);
  assert.equal(await refusalOf(user.send(new GetObjectCommand(named))), "404 NoSuchKey");
  const marked = { ...named, VersionId: marker.VersionId };
  assert.equal(await refusalOf(user.send(new GetObjectCommand(marked))), "405 MethodNotAllowed");
  await user.send(new DeleteObjectCommand(marked));
  assert.equal(await (await user.send(new GetObjectCommand(named))).Body?.transformToString(), "text");
  user.destroy();
});

test("a bucket whose versions are suspended has one object without, beside the versions from before", async () => {
  await using server = await s3Server();
  const bucket = server.bucket("bucket", "enabled");
  const first = bucket.put("key", Buffer.from("first"));
  bucket.versioning = "suspended";
  bucket.put("key", Buffer.from("second"));
  bucket.put("key", Buffer.from("third"));
  assert.equal(String(bucket.find("key", "null").bytes), "third");
  bucket.remove("key", undefined);
  assert.equal(bucket.peek("key")?.kind, "marker");
  assert.equal(bucket.find("key", first.id), first);
});

test("requests without a signature, with a wrong one or of another time are refused", async () => {
  const clock = { aheadMs: 0 };
  await using server = await s3Server({ now: () => Date.now() + clock.aheadMs });
  server.bucket("bucket").put("key", Buffer.from("text"));
  const get = new GetObjectCommand({ Bucket: "bucket", Key: "key" });
  assert.equal((await fetch(`${server.endpoint}/bucket/key`)).status, 403);

  const forged = userOf(server, { secretAccessKey: "another secret" });
  assert.equal(await refusalOf(forged.send(get)), "403 SignatureDoesNotMatch");
  const stranger = userOf(server, { accessKeyId: "AKIDOFNOBODY" });
  assert.equal(await refusalOf(stranger.send(get)), "403 InvalidAccessKeyId");
  const user = userOf(server);
  clock.aheadMs = 16 * 60 * 1000;
  assert.equal(await refusalOf(user.send(get)), "403 RequestTimeTooSkewed");
  for (const each of [forged, stranger, user]) each.destroy();
});

function userOf(server: S3Server, other: Partial<S3Server["credentials"]> = {}): S3Client {
  const { endpoint, region } = server;
  const credentials = { ...server.credentials, ...other };
  return new S3Client({ endpoint, region, credentials, forcePathStyle: true, maxAttempts: 1 });
}

async function refusalOf(sending: Promise<unknown>): Promise<string> {
  const error = await sending.then(
    () => assert.fail("it was not refused"),
    (refused: S3ServiceException) => refused,
  );
  return `${error.$metadata.httpStatusCode} ${error.name}`;
}
