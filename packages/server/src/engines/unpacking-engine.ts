import { findings } from "@lazaret/contract";
import { gatheredBytes } from "../flow/gathered-bytes.ts";
import { EngineUnavailable } from "../model/faults.ts";
import type { Verdict } from "../model/verdict.ts";
import { broadcast, mergeVerdicts } from "../scan/broadcast.ts";
import type { Engine, EngineCheck } from "../scan/engine.ts";
import { memoryBlob } from "../unpack/blob.ts";
import { mayHoldMembers } from "../unpack/sieve.ts";
import type { Clamd } from "./clamd/clamd.ts";
import { isBeyondLimits, isEncrypted } from "./clamd/reply.ts";
import { type Sample, type Sampler, sampleOf, sampler } from "./file-type/sample.ts";
import { SMALL_FILE_BYTES } from "./threads/scan-limits.ts";
import type { ScanThreads } from "./threads/scan-threads.ts";
import { release, type Spooled } from "./threads/spool.ts";

export interface EngineParts {
  /** Unpacks every file; with rules, if it has any. */
  threads: ScanThreads;
  clamd?: Clamd;
  /** Tells the real file type of the bytes, whatever the engines say of them. */
  fileType?: (sample: Sample) => string;
  /** Said at readiness besides what the parts say. */
  notes?: readonly EngineCheck[];
}

/**
 * Several engines that see the same: the file as it is, and every member of it. A small file is gathered first, and most of
 * them go no further than clamd. Of a larger one the bytes go to clamd as they arrive and are kept beside. When all are here
 * the file is unpacked, and what clamd has not come across by itself is shown to it. Only then clamd is told that the file has
 * ended, which is when it begins to scan: a bomb never gets that far.
 */
export function unpackingEngine({ threads, clamd, fileType, notes = [] }: EngineParts): Engine {
  let closed = false;

  /** Rules and members, of a file that is here as a whole. `decrypted`: something in it was encrypted and has been opened. */
  async function unpackAndMatch(
    file: Spooled,
    ready: Ready,
    signal: AbortSignal,
  ): Promise<{ verdict: Verdict; decrypted?: true }> {
    const other = clamd && { gets: "file" as const, opens: [...clamd.opens()], show: clamd.show };
    const outcome = await threads.run(file, { signal, other });
    if (outcome.kind !== "crowded") {
      if (isHopeless(outcome)) ready.reject(new Withheld());
      else ready.resolve();
      return outcome.kind === "clean" ? { ...outcome, verdict: CLEAN } : { verdict: outcome };
    }
    // Too much for clamd at once: it gets every member by itself, and the file as a whole only if that is no trap.
    ready.reject(new Withheld());
    return { verdict: await showApart(file, "contents", signal) };
  }

  /** Looks at a file with nothing in it being left to clamd's own unpacker. */
  async function showApart(file: Spooled, gets: "contents" | "members", signal: AbortSignal): Promise<Verdict> {
    const outcome = await threads.run(file, { signal, other: clamd && { gets, opens: [], show: clamd.show } });
    if (outcome.kind === "crowded") throw new Error("a file was too crowded although nothing was left to clamd");
    return outcome.kind === "clean" ? CLEAN : outcome;
  }

  async function scanSmall(content: Uint8Array, signal: AbortSignal): Promise<Verdict> {
    if (closed) throw new EngineUnavailable("the engine is closed");
    const file: Spooled = { kind: "memory", bytes: content };
    const plain = !mayHoldMembers(memoryBlob(content));
    // It holds nothing, and no rule can match it.
    if (plain && !threads.hasRules) return clamd ? byClamdAlone(clamd, file, signal) : CLEAN;
    const ready = openEnd();
    if (plain) ready.resolve();
    const byClamd = clamd && wholeFile(clamd, heldOpen(inOneChunk(content), ready.promise), signal);
    return byBoth(byClamd, ready, async () => file, signal);
  }

  async function byClamdAlone(
    engine: Clamd,
    file: Spooled & { kind: "memory" },
    signal: AbortSignal,
  ): Promise<Verdict> {
    const said = await engine.scan(inOneChunk(file.bytes), signal);
    return isBeyondLimits(said) ? showApart(file, "members", signal) : said;
  }

  function scanLarge(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Verdict> {
    const ready = openEnd();
    const [forThreads = bytes, forClamd = bytes] = clamd ? broadcast(bytes, 2) : [bytes];
    const stop = (reader: AsyncIterable<Uint8Array>) => (): void => {
      if ("stop" in reader && typeof reader.stop === "function") reader.stop();
    };
    const byClamd = clamd && wholeFile(clamd, heldOpen(forClamd, ready.promise), signal).finally(stop(forClamd));
    return byBoth(byClamd, ready, () => threads.spool(forThreads, signal).finally(stop(forThreads)), signal);
  }

  /** What clamd says to the file as it is, and we to all that is in it. */
  async function byBoth(
    byClamd: Promise<Verdict> | undefined,
    ready: Ready,
    spooled: () => Promise<Spooled>,
    signal: AbortSignal,
  ): Promise<Verdict> {
    // Who waits for it comes later.
    byClamd?.catch(() => {});
    let overruled = false;

    async function byThreads(): Promise<Verdict> {
      const file = await spooled();
      try {
        const { verdict, decrypted = false } = await unpackAndMatch(file, ready, signal);
        const said = verdict.kind === "clean" ? await byClamd : undefined;
        // Only clamd does not know what is in it: too much for it at once, or encrypted, and we have the key.
        const apart =
          said && (isBeyondLimits(said) ? "members" : decrypted && isEncrypted(said) ? "contents" : undefined);
        if (!apart) return verdict;
        overruled = true;
        return await showApart(file, apart, signal);
      } finally {
        release(file);
      }
    }
    const scans = [
      byThreads().catch((error) => {
        ready.reject(error);
        throw error;
      }),
    ];
    if (byClamd) scans.unshift(byClamd);
    return together((await Promise.allSettled(scans)).slice(overruled ? 1 : 0));
  }

  return {
    async scan(bytes, signal) {
      const file = await gathered(bytes, SMALL_FILE_BYTES, signal);
      if (file.kind === "small") {
        const verdict = await scanSmall(file.content, signal);
        return fileType ? { ...verdict, fileType: fileType(sampleOf(file.content)) } : verdict;
      }
      if (!fileType) return scanLarge(file.bytes, signal);
      const sample = sampler();
      const verdict = await scanLarge(sampled(file.bytes, sample), signal);
      return { ...verdict, fileType: fileType(sample.sample()) };
    },

    async health(signal) {
      const [ofClamd, ofThreads] = await Promise.all([clamd?.health(signal), threads.health()]);
      const checks = [...(ofClamd?.checks ?? []), ...ofThreads.checks];
      return { ready: (ofClamd?.ready ?? true) && ofThreads.ready, checks: [...checks, ...notes] };
    },

    async close() {
      closed = true;
      await Promise.all([threads.close(), clamd?.close()]);
    },
  };
}

const CLEAN: Verdict = { kind: "clean" };

type Ready = PromiseWithResolvers<void>;

function openEnd(): Ready {
  const ready: Ready = Promise.withResolvers();
  // Nobody may be waiting for it.
  ready.promise.catch(() => {});
  return ready;
}

/** clamd is not to scan the file as a whole; its members have been shown to it, or there is no hope for the file. */
class Withheld extends Error {
  constructor() {
    super("the file is not shown as a whole");
    this.name = "Withheld";
  }
}

/** A file beyond our limits would hold clamd for as long, and its word would not count. */
function isHopeless(verdict: Verdict): boolean {
  if (verdict.kind === "infected") return true;
  return (
    verdict.kind === "unscannable" &&
    (verdict.finding === findings.limitsExceeded || verdict.finding === findings.timeout)
  );
}

/** The same bytes, but the end of them only when it is known that clamd may have them all. */
async function* heldOpen(bytes: AsyncIterable<Uint8Array>, ready: Promise<void>): AsyncGenerator<Uint8Array> {
  yield* bytes;
  await ready;
}

/** What clamd says to the file as it is. Where it was not asked it has nothing to say. */
async function wholeFile(clamd: Clamd, bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Verdict> {
  try {
    return await clamd.scan(bytes, signal);
  } catch (error) {
    if (error instanceof Withheld) return { kind: "clean" };
    throw error;
  }
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

async function* sampled(bytes: AsyncIterable<Uint8Array>, sample: Sampler): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    sample.see(chunk);
    yield chunk;
  }
}

/** A file that ends within so many bytes, or one that does not, as a stream that goes on where reading stopped. */
async function gathered(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ kind: "small"; content: Uint8Array } | { kind: "large"; bytes: AsyncIterable<Uint8Array> }> {
  const source = bytes[Symbol.asyncIterator]();
  const head = gatheredBytes();
  while (!signal.aborted) {
    const next = await source.next();
    if (next.done) {
      signal.throwIfAborted();
      return { kind: "small", content: head.bytes() };
    }
    if (head.size + next.value.length > maxBytes) {
      return { kind: "large", bytes: goingOn([head.bytes(), next.value], source) };
    }
    head.add(next.value);
  }
  // Not awaited: one that hangs would not come back.
  void source.return?.().catch(() => {});
  throw signal.reason;
}

function goingOn(first: Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  const iterator: AsyncIterator<Uint8Array> = {
    next() {
      const value = first.shift();
      return value ? Promise.resolve({ done: false, value }) : rest.next();
    },
    return: async () => (await rest.return?.()) ?? { done: true, value: undefined },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

function inOneChunk(content: Uint8Array): AsyncIterable<Uint8Array> {
  return goingOn([content], { next: async () => ({ done: true, value: undefined }) });
}
