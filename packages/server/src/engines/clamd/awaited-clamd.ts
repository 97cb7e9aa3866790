import { EngineUnavailable } from "../../model/faults.ts";
import type { Clamd } from "./clamd.ts";

/** Stands where a clamd is expected and none is found: it has no verdict, and is not ready. `why` says what to do. */
export function awaitedClamd(why: string): Clamd {
  const refuse = async (): Promise<never> => {
    throw new EngineUnavailable(why);
  };
  return {
    scan: refuse,
    show: refuse,
    opens: () => new Set(),
    health: async () => ({ ready: false, checks: [{ name: "clamd", ok: false, detail: why }] }),
    close: async () => {},
  };
}
