import assert from "node:assert/strict";
import { test } from "node:test";
import "../../../test/support/leftovers.ts";
import { SESSION_MS, sessionSecret, sessions } from "./sessions.ts";

const secret = sessionSecret(["operator-key-0123456789", "viewer-key-0123456789"]);

test("a session is opened by whoever has the same keys, in any order, and by nobody else", () => {
  const { session, cookie } = sessions(secret, () => 0).begin("the-key");
  const elsewhere = sessions(sessionSecret(["viewer-key-0123456789", "operator-key-0123456789"]), () => 0);
  assert.deepEqual(elsewhere.open(cookie), session);
  assert.equal(elsewhere.csrfOf(session), sessions(secret, () => 0).csrfOf(session));
  const others = sessions(sessionSecret(["operator-key-0123456789"]), () => 0);
  assert.equal(others.open(cookie), undefined);
  assert.notEqual(others.cookieName, elsewhere.cookieName);
  assert.notEqual(others.csrfOf(session), elsewhere.csrfOf(session));
});

test("a session that was changed anywhere, cut or made up is none", () => {
  const own = sessions(secret, () => 0);
  const { cookie } = own.begin("the-key");
  const bytes = Buffer.from(cookie, "base64url");
  for (const at of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.equal(own.open(changed.toString("base64url")), undefined, `byte ${at}`);
  }
  for (const length of [0, 1, 12, 28, 29, bytes.length - 1])
    assert.equal(own.open(bytes.subarray(0, length).toString("base64url")), undefined, `${length} bytes`);
  assert.equal(own.open("A".repeat(100_000)), undefined);
  assert.equal(own.open(Buffer.from('{"ref":"the-key","expiresAt":9e15,"id":"x"}').toString("base64url")), undefined);
  assert.ok(own.open(cookie));
});

test("a session ends after 12 hours, and when its holder leaves", () => {
  let time = 1000;
  const own = sessions(secret, () => time);
  const first = own.begin("the-key");
  const second = own.begin("the-key");
  assert.notEqual(first.cookie, second.cookie);
  own.end(first.session);
  assert.equal(own.open(first.cookie), undefined);
  time += SESSION_MS - 1;
  assert.ok(own.open(second.cookie));
  time += 1;
  assert.equal(own.open(second.cookie), undefined);
});

test("what a page must send is another for each session", () => {
  const own = sessions(secret, () => 0);
  const [first, second] = [own.begin("the-key").session, own.begin("the-key").session];
  assert.ok(own.isCsrfOf(first, own.csrfOf(first)));
  for (const wrong of ["", "x", own.csrfOf(second), own.csrfOf(first).slice(1), `${own.csrfOf(first)}AAAA`])
    assert.equal(own.isCsrfOf(first, wrong), false, wrong);
});
