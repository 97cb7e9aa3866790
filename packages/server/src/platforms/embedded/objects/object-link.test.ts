import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { problemWithNames } from "./buckets.ts";
import { objectLinks } from "./object-link.ts";

const secretKey = Buffer.alloc(32, 1);
const object = { bucket: "uploads", key: "folder/a b.txt" };
const version = "0123456789abcdef0123456789abcdef";

test("a link leads to its object until its time is over", () => {
  const clock = { now: 1_790_000_000_500 };
  const links = objectLinks({ secretKey, now: () => clock.now });
  const link = links.make(object, 60);
  assert.match(link, /^\/objects\/uploads\/folder\/a%20b\.txt\?expires=1790000061&signature=[0-9a-f]{64}$/);
  assert.deepEqual(links.check(link), object);
  clock.now += 60_000;
  assert.deepEqual(links.check(link), object);
  clock.now += 500;
  assert.equal(links.check(link), undefined);
});

test("a link to a version leads to that version", () => {
  const links = objectLinks({ secretKey, now: Date.now });
  const link = links.make({ ...object, version }, 60);
  assert.deepEqual(links.check(link), { ...object, version });
  assert.equal(links.check(link.replace(`versionId=${version}&`, "")), undefined);
});

test("a link with anything changed in it is none", () => {
  const links = objectLinks({ secretKey, now: Date.now });
  const link = links.make(object, 60);
  const [path, query = ""] = link.split("?");
  for (const other of [
    "",
    "/",
    "/objects/",
    `${path}`,
    `${path}?`,
    `/other/uploads/folder/a%20b.txt?${query}`,
    `/objects/upload/folder/a%20b.txt?${query}`,
    `/objects/uploads/folder/a%20c.txt?${query}`,
    `/objects/uploads/../uploads/folder/a%20b.txt?${query}`,
    `/objects/uploads%2ffolder/a%20b.txt?${query}`,
    `/objects/uploads/folder/%zz?${query}`,
    `/objects/uploads/folder/%00?${query}`,
    `${link}&versionId=${version}`,
    `${link}&expires=9999999999`,
    `${link}&signature=00`,
    link.replace(/expires=\d+/, "expires=9999999999"),
    link.replace(/expires=\d+&/, ""),
    link.replace(/signature=.*/, "signature="),
    link.replace(/signature=../, "signature="),
    `${link}00`,
    link.replace(/signature=.*/, (text) => text.toUpperCase()),
  ]) {
    assert.equal(links.check(other), undefined, other);
  }
  assert.deepEqual(links.check(link), object);
});

test("another installation's link is none", () => {
  const others = objectLinks({ secretKey: Buffer.alloc(32, 2), now: Date.now });
  assert.equal(objectLinks({ secretKey, now: Date.now }).check(others.make(object, 60)), undefined);
});

const anyKey = fc
  .array(fc.oneof(fc.integer({ min: 1, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff })), { maxLength: 60 })
  .map((codePoints) => String.fromCodePoint(...codePoints));

test("the link to any key leads back to that key, also through a URL parser", () => {
  const links = objectLinks({ secretKey, now: Date.now });
  fc.assert(
    fc.property(anyKey, (key) => {
      fc.pre(problemWithNames({ bucket: "uploads", key }) === undefined);
      const url = new URL(`https://lazaret.example${links.make({ bucket: "uploads", key }, 60)}`);
      assert.deepEqual(links.check(url.pathname + url.search), { bucket: "uploads", key });
    }),
  );
});
