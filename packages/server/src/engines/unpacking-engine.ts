import { findings } from "@lazaret/contract";
import type { Verdict } from "../model/verdict.ts";
import { broadcast, mergeVerdicts } from "../scan/broadcast.ts";
import type { Engine, EngineCheck } from "../scan/engine.ts";
import { isWhole, wholeBytes } from "../scan/whole-bytes.ts";
import { fileBlob, memoryBlob } from "../unpack/blob.ts";
import { mayHoldMembers } from "../unpack/sieve.ts";
import type { Clamd } from "./clamd/clamd.ts";
import { isBeyondLimits, isEncrypted } from "./clamd/reply.ts";
import { type Sample, type Sampler, sampler } from "./file-type/sample.ts";
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
 * Several engines that see the same: the file as it is, and every member of it. The bytes go to clamd as they arrive and are
 * kept beside; when all are here the file is unpacked, and what clamd has not come across by itself is shown to it. Only
 * then clamd is told that the file has ended, which is when it begins to scan: a bomb never gets that far.
 */
export function unpackingEngine({ threads, clamd, fileType, notes = [] }: EngineParts): Engine {
  /** Rules and members, of a file that is here as a whole. `decrypted`: something in it was encrypted and has been opened. */
  async function unpackAndMatch(
    file: Spooled,
    ready: Ready,
    signal: AbortSignal,
  ): Promise<{ verdict: Verdict; decrypted?: true }> {
    const plain = !mayHoldMembers(blobOf(file));
    if (plain) ready.resolve();
    if (plain && file.kind === "memory" && !threads.mayMatch(file.bytes)) return { verdict: CLEAN };
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

  async function scan(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Verdict> {
    const content = isWhole(bytes) ? bytes.takeAll() : undefined;
    // Nothing in it is for the threads, and clamd need not wait for them.
    if (content && clamd && !mayHoldMembers(memoryBlob(content)) && !threads.mayMatch(content))
      return clamd.scan(wholeBytes(content), signal);
    const ready = Promise.withResolvers<void>();
    // Nobody may be waiting for it.
    ready.promise.catch(() => {});
    const [forThreads = bytes, forClamd = bytes] = clamd && !content ? broadcast(bytes, 2) : [bytes];
    const stop = (reader: AsyncIterable<Uint8Array>) => (): void => {
      if ("stop" in reader && typeof reader.stop === "function") reader.stop();
    };

    const byClamd = clamd && wholeFile(clamd, heldOpen(forClamd, ready.promise), signal).finally(stop(forClamd));
    // Who waits for it comes later.
    byClamd?.catch(() => {});

    let overruled = false;

    async function byThreads(): Promise<Verdict> {
      const file: Spooled = content
        ? { kind: "memory", bytes: content }
        : await threads.spool(forThreads, signal).finally(stop(forThreads));
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
      if (!fileType) return scan(bytes, signal);
      const sample = sampler();
      const verdict = await scan(sampled(bytes, sample), signal);
      return { ...verdict, fileType: fileType(sample.sample()) };
    },

    async health(signal) {
      const [ofClamd, ofThreads] = await Promise.all([clamd?.health(signal), threads.health()]);
      const checks = [...(ofClamd?.checks ?? []), ...ofThreads.checks];
      return { ready: (ofClamd?.ready ?? true) && ofThreads.ready, checks: [...checks, ...notes] };
    },

    async close() {
      await Promise.all([threads.close(), clamd?.close()]);
    },
  };
}

const CLEAN: Verdict = { kind: "clean" };

interface Ready {
  resolve(): void;
  reject(reason: unknown): void;
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

function sampled(bytes: AsyncIterable<Uint8Array>, sample: Sampler): AsyncIterable<Uint8Array> {
  if (!isWhole(bytes)) return sampledChunks(bytes, sample);
  const content = bytes.takeAll();
  sample.see(content);
  return wholeBytes(content);
}

async function* sampledChunks(bytes: AsyncIterable<Uint8Array>, sample: Sampler): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    sample.see(chunk);
    yield chunk;
  }
}

function blobOf(file: Spooled): ReturnType<typeof memoryBlob> {
  return file.kind === "memory" ? memoryBlob(file.bytes) : fileBlob(file.descriptor, 0, file.size);
}
