import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { spanPlace, traceContext } from "./trace-context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const good = `00-${traceId}-${spanId}-01`;
const stateOf = (tracestate: unknown): string | undefined => spanPlace({ traceparent: good, tracestate })?.tracestate;

describe("traceparent", () => {
  test("is taken as the specification writes it, with what later versions add left out", () => {
    const sampled = { traceId, spanId, sampled: true };
    assert.deepEqual(spanPlace({ traceparent: good }), sampled);
    assert.deepEqual(spanPlace({ traceparent: `00-${traceId}-${spanId}-00` }), { ...sampled, sampled: false });
    assert.deepEqual(spanPlace({ traceparent: `00-${traceId}-${spanId}-03` }), sampled);
    assert.deepEqual(spanPlace({ traceparent: `cc-${traceId}-${spanId}-01` }), sampled);
    assert.deepEqual(spanPlace({ traceparent: `cc-${traceId}-${spanId}-01-what the future will be like` }), sampled);
  });

  test("is passed over when anything about it is wrong", () => {
    const wrong = [
      undefined,
      "",
      7,
      [good],
      { length: 55 },
      good.toUpperCase(),
      ` ${good}`,
      `${good}\n`,
      `${good}-`,
      `${good}, ${good}`,
      `ff-${traceId}-${spanId}-01`,
      `0x-${traceId}-${spanId}-01`,
      `cc-${traceId}-${spanId}-01.`,
      `00-${"0".repeat(32)}-${spanId}-01`,
      `00-${traceId}-${"0".repeat(16)}-01`,
      `00-${traceId.slice(1)}-${spanId}-01`,
      `00-${traceId}-${spanId}-1`,
      `00-${traceId}-${spanId}`,
      `00-${traceId}-${spanId}-0x`,
      "0".repeat(1_000_000),
    ];
    for (const traceparent of wrong)
      assert.equal(spanPlace({ traceparent }), undefined, String(traceparent).slice(0, 80));
  });

  test("never throws, and what was taken is written again as the same place", () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (traceparent, tracestate) => {
        const place = spanPlace({ traceparent, tracestate });
        if (place) assert.deepEqual(spanPlace({ ...traceContext(place) }), place);
      }),
    );
    const place = { traceId, spanId, sampled: false, tracestate: "a=1,b=2" };
    assert.deepEqual(spanPlace({ ...traceContext(place) }), place);
  });
});

describe("tracestate", () => {
  test("is taken in its order, without spaces and empty members", () => {
    assert.equal(stateOf("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"), "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
    assert.equal(stateOf(" a@vendor=1 ,\t,1b=x y , "), "a@vendor=1,1b=x y");
  });

  test("is dropped as a whole when anything about it is wrong, and the trace goes on without it", () => {
    const many = Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(",");
    const wrong = ["", ",", "a", "=1", "A=1", "a=1=2", "a=é", "a=1\r\nX-Evil: 1", "a=1,a=2", "_a=1", many, 7, ["a=1"]];
    for (const tracestate of [...wrong, `a=${"1".repeat(257)}`, "a=1,".repeat(100_000)]) {
      assert.deepEqual(
        spanPlace({ traceparent: good, tracestate }),
        { traceId, spanId, sampled: true },
        String(tracestate).slice(0, 80),
      );
    }
  });

  test("is cut to 512 letters, by whole members, the oldest first", () => {
    const members = Array.from({ length: 20 }, (_, index) => `key-${index}=${"v".repeat(40)}`);
    const kept = stateOf(members.join(",")) ?? "";
    assert.ok(kept.length <= 512 && kept.length > 400);
    assert.ok(members.join(",").startsWith(`${kept},`));
  });
});
