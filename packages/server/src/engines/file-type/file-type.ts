import type { EngineCheck } from "../../scan/engine.ts";
import { type DeepLooksOptions, deepLooks } from "./deep/deep-looks.ts";
import { nameOf } from "./kinds.ts";
import { quickLook } from "./quick-look.ts";
import type { Sample } from "./sample.ts";

/**
 * Tells what kind of file a sample is of, by its bytes alone. The type is information, never part of the verdict:
 * every sample gets a name, a worse one when a detector fails, overruns or is stopped. Never throws.
 */
export interface FileTypeDetector {
  detect(sample: Sample, signal: AbortSignal): Promise<string>;
  /** Not ok means that rarer kinds of files are called `data`; scanning goes on. */
  health(): EngineCheck;
  /** Ends the thread. Detections under way answer with what the quick look told. */
  close(): Promise<void>;
}

/** A deep look takes some milliseconds; one of a second is an attack, and no scan waits for more than two of them. */
const DEFAULTS: DeepLooksOptions = {
  workLimitMs: 1000,
  answerLimitMs: 2000,
  restartAfterMs: 10_000,
  thread: new URL("./deep/deep-look-thread.ts", import.meta.url),
};

export function fileTypeDetector(options: Partial<DeepLooksOptions> = {}): FileTypeDetector {
  const deep = deepLooks({ ...DEFAULTS, ...options });

  return {
    async detect(sample, signal) {
      const { kind, sure } = quickLook(sample);
      if (sure) return nameOf(kind);
      return (await deep.ask(sample, kind, signal)) ?? nameOf(kind);
    },
    health() {
      const fault = deep.fault();
      if (fault) return { name: "file type", ok: false, detail: `${fault}; common kinds of files are still told` };
      const lost = deep.lost();
      return { name: "file type", ok: true, detail: lost === 0 ? "ready" : `ready, ${lost} looks given up` };
    },
    close: () => deep.close(),
  };
}
