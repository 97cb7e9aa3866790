import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { findings, sampleFinding as message } from "../../test/support/sample-findings.ts";
import { attributesOf } from "./findings-topic.ts";

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
      fc.property(findings, (any) => {
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
