import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { findings, sampleFinding as message } from "../../../test/support/sample-findings.ts";
import { emailSubject, emailText } from "./finding-text.ts";

describe("an email about a finding", () => {
  it("says what it was, what it is and what was done", () => {
    assert.equal(emailText(message), "uploads/invoices/q3.pdf 3 is infected, tag action executed\nfinding: Win.Test");
    const { version: _, finding: __, ...plain } = message;
    assert.equal(
      emailText({ ...plain, status: "clean", action: "no" }),
      "uploads/invoices/q3.pdf is clean, no action executed",
    );
  });

  it("shows characters as they are, except those that cannot be seen", () => {
    const key = "ünï 👾\\ \r\nfinding: none\t\u202egpj\u2028\ud83d.exe";
    const shown = "ünï 👾\\ \\u000d\\u000afinding: none\\u0009\\u202egpj\\u2028\\ud83d.exe";
    assert.equal(emailText({ ...message, key }).split("\n")[0], `uploads/${shown} 3 is infected, tag action executed`);
    assert.equal(emailSubject({ ...message, key }), `infected: uploads/${shown}`);
  });

  it("has one line, and one more for a finding, whatever is in the message", () => {
    fc.assert(
      fc.property(findings, (any) => {
        const lines = emailText(any).split(/[\p{Cc}\p{Zl}\p{Zp}]/u);
        assert.equal(lines.length, any.finding === undefined ? 1 : 2);
        assert.equal(emailText(any).isWellFormed(), true);
      }),
    );
  });

  it("has a subject of at most 100 characters on one line", () => {
    fc.assert(
      fc.property(findings, (any) => {
        const subject = emailSubject(any);
        assert.ok([...subject].length <= 100);
        assert.doesNotMatch(subject, /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u);
      }),
    );
    assert.equal(emailSubject({ ...message, key: "x".repeat(200) }).length, 100);
  });
});
