import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { rulesEngine, verdictOf } from "../support/rules-engine.ts";

const engine = await rulesEngine({ threads: 1 });
after(() => engine.close());

/** Enough of them that files have to wait. */
const OTHERS = Array.from({ length: 6 }, (_, index) => Buffer.from(`file number ${index}`));

/**
 * One built-in rule: what it must match, and what comes close and must not be matched by any rule. Samples are put
 * together at run time, from pieces none of which is worth a scanner's attention.
 */
export function checkRule(rule: string, samples: { matches: Samples; misses: Samples }): void {
  describe(rule, () => {
    for (const [name, sample] of Object.entries(samples.matches)) {
      test(`matches ${name}, alone and among others`, async () => {
        const content = bytesOf(sample);
        assert.equal(await verdictOf(engine, content), `infected ${rule}`);
        const among = [...OTHERS, content, ...OTHERS];
        const words = await Promise.all(among.map((one) => verdictOf(engine, one)));
        assert.deepEqual(
          words,
          among.map((one) => (one === content ? `infected ${rule}` : "clean")),
        );
      });
    }
    for (const [name, sample] of Object.entries(samples.misses)) {
      test(`does not match ${name}`, async () => assert.equal(await verdictOf(engine, bytesOf(sample)), "clean"));
    }
  });
}

/** A name for people, and the pieces. */
type Samples = Record<string, readonly string[] | Uint8Array>;

function bytesOf(sample: readonly string[] | Uint8Array): Uint8Array {
  return sample instanceof Uint8Array ? sample : Buffer.from(sample.join(""), "latin1");
}
