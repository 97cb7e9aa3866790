import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import "../../../test/support/leftovers.ts";
import { SESSION_MS, type Sessions, sessions } from "./sessions.ts";

const secret = randomBytes(32);
const setKeys = ["operator-key-0123456789", "viewer-key-0123456789"];
const key = { ref: "the-key", digest: "its-digest" };
const at = (now: () => number): Sessions => sessions(secret, setKeys, now);

test("a session is opened where the secret and the set keys are the same, in any order, and nowhere else", () => {
  const { session, cookie } = at(() => 0).begin(key);
  const elsewhere = sessions(secret, setKeys.toReversed(), () => 0);
  assert.deepEqual(elsewhere.open(cookie), session);
  assert.equal(elsewhere.csrfOf(session), at(() => 0).csrfOf(session));
  for (const others of [sessions(secret, setKeys.slice(1), () => 0), sessions(randomBytes(32), setKeys, () => 0)]) {
    assert.equal(others.open(cookie), undefined);
    assert.notEqual(others.cookieName, elsewhere.cookieName);
    assert.notEqual(others.csrfOf(session), elsewhere.csrfOf(session));
  }
});

test("a session that would last longer than any that is made is none, though it is well sealed", () => {
  const began = 1_790_000_000_000;
  const { cookie } = at(() => began).begin(key);
  // The clock of the machine that began it may be ahead a little.
  assert.ok(at(() => began - 5 * 60_000).open(cookie));
  assert.equal(at(() => began - 5 * 60_000 - 1).open(cookie), undefined);
  assert.equal(at(() => 0).open(cookie), undefined);
});

test("a session that was changed anywhere, cut or made up is none", () => {
  const own = at(() => 0);
  const { cookie } = own.begin(key);
  const bytes = Buffer.from(cookie, "base64url");
  for (const index of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[index] = (changed[index] ?? 0) ^ 1;
    assert.equal(own.open(changed.toString("base64url")), undefined, `byte ${index}`);
  }
  for (const length of [0, 1, 12, 28, 29, bytes.length - 1])
    assert.equal(own.open(bytes.subarray(0, length).toString("base64url")), undefined, `${length} bytes`);
  assert.equal(own.open("A".repeat(100_000)), undefined);
  assert.equal(own.open(Buffer.from('{"ref":"the-key","expiresAt":9e15,"id":"x"}').toString("base64url")), undefined);
  assert.ok(own.open(cookie));
});

test("a session ends after 12 hours, and when its holder leaves", () => {
  let time = 1000;
  const own = at(() => time);
  const first = own.begin(key);
  const second = own.begin(key);
  assert.notEqual(first.cookie, second.cookie);
  own.end(first.session);
  assert.equal(own.open(first.cookie), undefined);
  time += SESSION_MS - 1;
  assert.ok(own.open(second.cookie));
  time += 1;
  assert.equal(own.open(second.cookie), undefined);
});

test("what a page must send is another for each session", () => {
  const own = at(() => 0);
  const [first, second] = [own.begin(key).session, own.begin(key).session];
  assert.ok(own.isCsrfOf(first, own.csrfOf(first)));
  for (const wrong of ["", "x", own.csrfOf(second), own.csrfOf(first).slice(1), `${own.csrfOf(first)}AAAA`])
    assert.equal(own.isCsrfOf(first, wrong), false, wrong);
});
