import { EngineUnavailable } from "../model/faults.ts";
import type { Engine, EngineCheck } from "../scan/engine.ts";
import { verdictCache } from "../scan/verdict-cache.ts";
import type { ClamdAddress } from "./clamd/address.ts";
import { type Clamd, clamd } from "./clamd/clamd.ts";
import { keptClamd } from "./clamd/keeper/kept-clamd.ts";
import { fileTypeOf } from "./file-type/file-type.ts";
import {
  type RulesOptions,
  ruleThreads,
  type ScanThreads,
  type ScanThreadsOptions,
  unpackThreads,
} from "./threads/scan-threads.ts";
import { type EngineParts, unpackingEngine } from "./unpacking-engine.ts";

/** What the spec's two engine variants are made of. */
export type VariantParts = {
  concurrency: number;
  /** The data folder for which clamd is kept, if it is one of our own. */
  keptFor?: string;
  /** So many contents are remembered with their verdicts; none unless told. */
  verdictCache?: number;
  unpacking?: ScanThreadsOptions;
  /** How long clamd took for a file, and scan threads. */
  onPart?: ((part: "clamd" | "threads", seconds: number) => void) | undefined;
} & (
  | { variant: "Q"; clamd: ClamdAddress | (ClamdSearch & { required: string }) }
  | { variant: "P"; clamd: ClamdAddress | ClamdSearch | undefined; rules: ScanThreadsOptions & RulesOptions }
);

/** A clamd that is not there yet, and is taken in when it comes. */
export interface ClamdSearch {
  kind: "search";
  find(): ClamdAddress | undefined;
  onFound(address: ClamdAddress): void;
  /** Its socket is likely to come: the program is on this machine. */
  likely: boolean;
  /** Nothing is clean before it is there, and this says why. Q has nothing else to scan with. */
  required?: string;
}

export async function startEngine(parts: VariantParts): Promise<Engine> {
  const { concurrency, keptFor, onPart } = parts;
  const onReply = onPart && ((seconds: number): void => onPart("clamd", seconds));
  const open = (address: ClamdAddress): Clamd => {
    const options = { address, concurrency, onReply };
    return keptFor === undefined ? clamd(options) : keptClamd(options, keptFor);
  };
  const cache = parts.verdictCache ? verdictCache(parts.verdictCache) : undefined;
  const remembering = cache && { cache };
  const others = { name: parts.variant, ...(await partsBesideClamd(parts)), ...remembering };
  if (!parts.clamd) return unpackingEngine({ ...others, notes: [withoutClamd(NO_SEARCH)] });
  if (parts.clamd.kind !== "search") return unpackingEngine({ ...others, clamd: open(parts.clamd) });

  const search = parts.clamd;
  const before: Partial<EngineParts> =
    search.required !== undefined
      ? { clamd: awaitedClamd(search.required) }
      : { notes: [withoutClamd(search.likely ? LIKELY : SEARCH)] };
  return untilFound(search, unpackingEngine({ ...others, ...before }), (address) =>
    unpackingEngine({ ...others, clamd: open(address) }),
  );
}

async function partsBesideClamd(parts: VariantParts): Promise<EngineParts> {
  if (parts.variant === "Q") return { threads: timed(unpackThreads(parts.unpacking), parts) };
  return { threads: timed(await ruleThreads(parts.rules), parts), fileType: fileTypeOf };
}

function timed(threads: ScanThreads, { onPart }: VariantParts): ScanThreads {
  if (!onPart) return threads;
  const run: ScanThreads["run"] = async (file, options) => {
    const began = performance.now();
    const outcome = await threads.run(file, options);
    onPart("threads", (performance.now() - began) / 1000);
    return outcome;
  };
  return { ...threads, run };
}

/** Scans search as well; this is for services that nobody asks anything. */
const SEARCH_EVERY_MS = 1000;

/** Scans with `before` until a clamd is found, with `join` from then on. Both have the same parts but for clamd. */
function untilFound(search: ClamdSearch, before: Engine, join: (address: ClamdAddress) => Engine): Engine {
  let current = before;
  const timer = setInterval(joinIfFound, SEARCH_EVERY_MS).unref();
  let done = false;

  function joinIfFound(): void {
    const address = done ? undefined : search.find();
    if (!address) return;
    stop();
    current = join(address);
    search.onFound(address);
  }

  function stop(): void {
    done = true;
    clearInterval(timer);
  }

  return {
    ...(before.cacheCounts && { cacheCounts: before.cacheCounts }),
    scannedBy: () => current.scannedBy?.(),
    scan(bytes, signal, digest) {
      joinIfFound();
      return current.scan(bytes, signal, digest);
    },
    health(signal) {
      joinIfFound();
      return current.health(signal);
    },
    close() {
      stop();
      return current.close();
    },
  };
}

/** Said at the start, in the log and at readiness: somebody will take this engine for more than it is. */
function withoutClamd(what: string): EngineCheck {
  const detail = `NOT IN USE: this engine knows test files and the rules in its folder, not the world's malware; ${what}`;
  return { name: "clamd", ok: true, detail };
}

const NO_SEARCH = "run clamd and set LAZARET_CLAMD for that";
const SEARCH = "run clamd for that, it is taken in when its socket appears";
const LIKELY = "clamd is installed here and has no socket yet: start it, it is taken in when its socket appears";

/** Stands where a clamd is expected and none is found: it has no verdict, and is not ready. `why` says what to do. */
function awaitedClamd(why: string): Clamd {
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
