import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { linkAddress, objectAddress } from "./object-reader.ts";

const signed = [
  "X-Amz-Algorithm=AWS4-HMAC-SHA256",
  "X-Amz-Content-Sha256=UNSIGNED-PAYLOAD",
  "X-Amz-Credential=AKID%2F20260101%2Feu-central-1%2Fs3%2Faws4_request",
  "X-Amz-Date=20260101T000000Z",
  "X-Amz-Expires=43200",
  "X-Amz-Security-Token=token",
  "X-Amz-Signature=abcdef",
  "X-Amz-SignedHeaders=host",
  "x-amz-checksum-mode=ENABLED",
  "x-id=GetObject",
];

const cases: Record<string, [link: string, address: string]> = {
  "a presigned link loses its whole query": [`https://s3/bucket/key?${signed.join("&")}`, "https://s3/bucket/key"],
  "the version stays": [
    `https://s3/bucket/key?${signed.slice(0, 5).join("&")}&versionId=a%2Bb&${signed.slice(5).join("&")}`,
    "https://s3/bucket/key?versionId=a%2Bb",
  ],
  "the older kind of signature is dropped too": [
    "https://s3/bucket/key?AWSAccessKeyId=AKID&Expires=1790000000&Signature=abc%3D&versionId=1",
    "https://s3/bucket/key?versionId=1",
  ],
  "parameters of other stores are dropped": [
    "https://store/o?expires=1&signature=a&sig=b&X-Goog-Signature=c&token=d&versionId=2",
    "https://store/o?versionId=2",
  ],
  "a link without a query stays": ["https://s3/bucket/key", "https://s3/bucket/key"],
  "dots and escapes in the key stay": [
    "https://s3/bucket/a/../b//%3FversionId%3Dx?X-Amz-Signature=s",
    "https://s3/bucket/a/../b//%3FversionId%3Dx",
  ],
  "a fragment is dropped": ["https://s3/bucket/key?versionId=1#X-Amz-Signature=s", "https://s3/bucket/key?versionId=1"],
};

for (const [name, [link, address]] of Object.entries(cases)) {
  test(`${name}`, () => assert.equal(linkAddress(link), address));
}

test("no parameter but the version ever gets through", () => {
  const parameter = fc.tuple(fc.string(), fc.string()).map(([name, value]) => {
    return `${encodeURIComponent(`${name.toWellFormed()}-secret`)}=${encodeURIComponent(value.toWellFormed())}`;
  });
  fc.assert(
    fc.property(fc.array(parameter), fc.array(parameter), (before, after) => {
      const link = `https://store/bucket/key?${[...before, "versionId=7", ...after].join("&")}`;
      assert.equal(linkAddress(link), "https://store/bucket/key?versionId=7");
    }),
  );
});

// spec: limit-10
test("the internal link to an object is made for 12 hours, and told without what lets one in", async () => {
  const asked: number[] = [];
  const address = objectAddress({
    async link({ bucket, key }, forSeconds) {
      asked.push(forSeconds);
      return `https://s3.example.com/${bucket}/${key}?X-Amz-Expires=${forSeconds}&X-Amz-Signature=secret&versionId=3`;
    },
  });
  assert.equal(
    await address({ bucket: "uploads", key: "q3.pdf" }),
    "https://s3.example.com/uploads/q3.pdf?versionId=3",
  );
  assert.deepEqual(asked, [12 * 60 * 60]);
});
