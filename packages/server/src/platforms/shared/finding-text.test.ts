import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FindingsMessage } from "@lazaret/contract";
import fc from "fast-check";
import { emailSubject, emailText } from "./finding-text.ts";

const message: FindingsMessage = {
  bucket: "uploads",
  key: "invoices/q3.pdf",
  version: "3",
  size: 4096,
  status: "infected",
  action: "tag",
  finding: "Win.Test",
  trace_id: "order-4711",
  custom_data: "anything",
  realfiletype: "pdf",
};

/** Any UTF-16, lone surrogates included. */
const texts = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) });
const messages: fc.Arbitrary<FindingsMessage> = fc.record(
  {
    bucket: texts,
    key: fc.oneof(texts, fc.string({ unit: "binary" })),
    size: fc.nat(),
    status: fc.constantFrom("clean" as const, "infected" as const, "no" as const),
    action: fc.constantFrom("delete" as const, "tag" as const, "no" as const),
    version: texts,
    finding: texts,
    trace_id: texts,
    custom_data: texts,
    realfiletype: texts,
  },
  { requiredKeys: ["bucket", "key", "size", "status", "action"] },
);

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
      fc.property(messages, (any) => {
        const lines = emailText(any).split(/[\p{Cc}\p{Zl}\p{Zp}]/u);
        assert.equal(lines.length, any.finding === undefined ? 1 : 2);
        assert.equal(emailText(any).isWellFormed(), true);
      }),
    );
  });

  it("has a subject of at most 100 characters on one line", () => {
    fc.assert(
      fc.property(messages, (any) => {
        const subject = emailSubject(any);
        assert.ok([...subject].length <= 100);
        assert.doesNotMatch(subject, /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u);
      }),
    );
    assert.equal(emailSubject({ ...message, key: "x".repeat(200) }).length, 100);
  });
});
