import type { Verdict } from "../model/verdict.ts";
import type { Engine } from "../scan/engine.ts";
import { fanOut } from "../scan/fan-out.ts";
import { mergeVerdicts } from "../scan/merge-verdicts.ts";
import type { FileTypeDetector } from "./file-type/file-type.ts";
import { sampler } from "./file-type/sample.ts";

export interface EnginePParts {
  fileType: FileTypeDetector;
  /** All of them must look; the one whose names people know first. */
  engines: readonly Engine[];
}

/** Variant P: several engines look at the same bytes in one pass, and the real file type is told with the verdict. */
export function engineP({ fileType, engines }: EnginePParts): Engine {
  return {
    async scan(bytes, signal) {
      const sample = sampler();
      async function* sampled(): AsyncGenerator<Uint8Array> {
        for await (const chunk of bytes) {
          sample.see(chunk);
          yield chunk;
        }
      }
      const readers = fanOut(sampled(), engines.length);
      const outcomes = await Promise.allSettled(
        engines.map((engine, index) => {
          const reader = readers[index] ?? sampled();
          return engine.scan(reader, signal).finally(() => readers[index]?.stop());
        }),
      );
      const verdict = together(outcomes);
      return { ...verdict, fileType: await fileType.detect(sample.sample(), signal) };
    },

    async health(signal) {
      const all = await Promise.all(engines.map((engine) => engine.health(signal)));
      return {
        // Without the file type files are still scanned.
        ready: all.every((health) => health.ready),
        checks: [...all.flatMap((health) => health.checks), fileType.health()],
      };
    },

    async close() {
      await Promise.all([fileType.close(), ...engines.map((engine) => engine.close())]);
    },
  };
}

/** A fault of one engine leaves the file unjudged, unless another has found something in it. */
function together(outcomes: readonly PromiseSettledResult<Verdict>[]): Verdict {
  const verdicts = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  const fault = outcomes.find((outcome) => outcome.status === "rejected");
  if (!fault) return mergeVerdicts(verdicts);
  const infected = verdicts.find((verdict) => verdict.kind === "infected");
  if (!infected) throw fault.reason;
  return infected;
}
