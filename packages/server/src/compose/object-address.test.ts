import assert from "node:assert/strict";
import { test } from "node:test";
import { objectAddress } from "./object-address.ts";

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
