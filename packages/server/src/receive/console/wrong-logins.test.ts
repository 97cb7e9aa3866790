import assert from "node:assert/strict";
import { test } from "node:test";
import "../../../test/support/leftovers.ts";
import { Problem } from "../problem.ts";
import { wrongLogins } from "./wrong-logins.ts";

test("five wrong logins a minute and address, then nothing is looked at until the first is a minute ago", () => {
  let time = 0;
  const wrong = wrongLogins(() => time);
  for (let count = 0; count < 5; count += 1) {
    wrong.check("10.0.0.1");
    wrong.failed("10.0.0.1");
    time += 1000;
  }
  assert.throws(
    () => wrong.check("10.0.0.1"),
    (error) => error instanceof Problem && error.status === 429 && error.headers["Retry-After"] === "55",
  );
  wrong.check("10.0.0.2");
  time = 59_999;
  assert.throws(() => wrong.check("10.0.0.1"));
  time = 60_000;
  wrong.check("10.0.0.1");
  wrong.failed("10.0.0.1");
  assert.throws(() => wrong.check("10.0.0.1"));
});

test("all addresses of one IPv6 network are one", () => {
  const wrong = wrongLogins(() => 0);
  for (let count = 1; count <= 5; count += 1) wrong.failed(`2001:db8:1:2::${count}`);
  assert.throws(() => wrong.check("2001:db8:1:2:ffff::9"));
  wrong.check("2001:db8:1:3::1");
});

test("of who has many addresses 60 a minute are worth a line", () => {
  let time = 0;
  const wrong = wrongLogins(() => time);
  const worth = (): number => {
    const answers = Array.from({ length: 200 }, (_, index) => wrong.failed(`10.${time % 250}.${index}.1`));
    return answers.filter((each) => each).length;
  };
  assert.equal(worth(), 60);
  time = 59_000;
  assert.equal(worth(), 0);
  time = 60_000;
  assert.equal(worth(), 60);
});
