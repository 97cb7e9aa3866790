import type { FindingsMessage } from "@lazaret/contract";
import fc from "fast-check";

/** With every field. */
export const sampleFinding: FindingsMessage = {
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
export const findings: fc.Arbitrary<FindingsMessage> = fc.record(
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
