import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FindingsMessage } from "@lazaret/contract";
import fc from "fast-check";
import { attributesOf } from "./findings-topic.ts";

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

describe("the attributes of a finding", () => {
  it("are its fields, except custom_data and realfiletype", () => {
    const { custom_data: _, realfiletype: __, ...attributes } = message;
    assert.deepEqual(attributesOf(message), attributes);
  });

  it("are only those that the message has", () => {
    const { bucket, key, size, status, action } = message;
    assert.deepEqual(attributesOf({ bucket, key, size, status, action }), { bucket, key, size, status, action });
  });

  it("have # for each surrogate, paired or not", () => {
    assert.equal(attributesOf({ ...message, key: "a👾b\ud83dc\udc7e\ud83d" }).key, "a##b#c##");
  });

  it("have as many code units as the message, each the same or # for a surrogate", () => {
    fc.assert(
      fc.property(messages, (any) => {
        const attributes = attributesOf(any);
        for (const name of ["bucket", "key", "version", "finding", "trace_id"] as const) {
          assert.equal(attributes[name] === undefined, any[name] === undefined);
          const expected = (any[name] ?? "")
            .split("")
            .map((unit) => (unit >= "\ud800" && unit <= "\udfff" ? "#" : unit))
            .join("");
          assert.equal(attributes[name] ?? "", expected);
        }
        assert.equal(attributes.size, any.size);
      }),
    );
  });
});
