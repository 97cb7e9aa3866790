import type { Verdict } from "../model/verdict.ts";
import { archiveLook, type Objection } from "./archive-look.ts";
import type { Engine } from "./engine.ts";

/**
 * An engine that is believed only where our own look at the archive's directory agrees: clean needs both. A file whose
 * directory shows that no engine can get through it is not even given to the engine to its end.
 */
export function withArchiveLook(engine: Engine): Engine {
  return {
    ...engine,
    async scan(bytes, signal) {
      const look = archiveLook();
      let objection: Objection | undefined;

      async function* watched(): AsyncGenerator<Uint8Array> {
        for await (const chunk of bytes) {
          look.see(chunk);
          yield chunk;
        }
        objection = look.finish();
        if (objection?.hopeless) throw new Hopeless(objection);
      }

      try {
        const verdict = await engine.scan(watched(), signal);
        return verdict.kind === "clean" && objection ? unscannable(objection) : verdict;
      } catch (error) {
        if (error instanceof Hopeless) return unscannable(error.objection);
        throw error;
      }
    },
  };
}

function unscannable(objection: Objection): Verdict {
  return { kind: "unscannable", finding: objection.finding, detail: objection.detail };
}

/** Ends the engine's reading before the end of the stream, so that it drops the file unscanned. */
class Hopeless extends Error {
  readonly objection: Objection;

  constructor(objection: Objection) {
    super(objection.detail);
    this.name = "Hopeless";
    this.objection = objection;
  }
}
