import { createHash } from "node:crypto";
import { findings } from "@lazaret/contract";
import { isWhole, wholeBytes } from "../flow/whole-bytes.ts";
import { EngineUnavailable } from "../model/faults.ts";
import type { ScannedBy } from "../model/report.ts";
import type { Verdict } from "../model/verdict.ts";
import { broadcast, mergeVerdicts } from "../scan/broadcast.ts";
import type { AskedDigest, Engine, EngineCheck } from "../scan/engine.ts";
import type { Content, Edition, VerdictCache } from "../scan/verdict-cache.ts";
import { contentOf, hexOf } from "../scan/verdict-cache.ts";
import { memoryBlob } from "../unpack/blob.ts";
import { mayHoldMembers } from "../unpack/sieve.ts";
import type { Clamd } from "./clamd/clamd.ts";
import { isBeyondLimits, isEncrypted } from "./clamd/reply.ts";
import type { ClamdVersion } from "./clamd/version.ts";
import { type Sample, sampleOf, sampler } from "./file-type/sample.ts";
import { gathered, seenBy } from "./gathered-file.ts";
import { SMALL_FILE_BYTES } from "./threads/scan-limits.ts";
import type { ScanThreads } from "./threads/scan-threads.ts";
import { release, type Spooled } from "./threads/spool.ts";
import { ifExchanged, openEnd, type Ready, Withheld, wholeFile } from "./whole-file.ts";

export interface EngineParts {
  /** The variant, for people. */
  name?: string;
  /** Unpacks every file; with rules, if it has any. */
  threads: ScanThreads;
  clamd?: Clamd;
  /** Tells the real file type of the bytes, whatever the engines say of them. */
  fileType?: (sample: Sample) => string;
  /** What is remembered of contents; may be another engine's too. */
  cache?: VerdictCache;
  /** Said at readiness besides what the parts say. */
  notes?: readonly EngineCheck[];
}

/**
 * Several engines that see the same: the file as it is, and every member of it. A small file is gathered first, and most of
 * them go no further than clamd. Of a larger one the bytes go to clamd as they arrive and are kept beside. When all are here
 * the file is unpacked, and what clamd has not come across by itself is shown to it. Only then clamd is told that the file has
 * ended, which is when it begins to scan: a bomb never gets that far.
 */
export function unpackingEngine(parts: EngineParts): Engine {
  const { name = "", threads, clamd, fileType, cache, notes = [] } = parts;
  let closed = false;
  /** The same text for many entries of the cache, instead of one for each. */
  let lastOpened = "";
  let by: { version: ClamdVersion | undefined; scannedBy: ScannedBy } | undefined;

  /** What clamd works with. A look costs half as much as all else of an answer that is known; one does for all within a moment. */
  let looked: { other: object | undefined; at: number } | undefined;
  function otherWithin(ms: number): object | undefined {
    const at = performance.now();
    if (!looked || at - looked.at > ms) looked = { other: clamd?.edition?.now(), at };
    return looked.other;
  }

  /** By what a file would be scanned now; nothing is looked up or kept without. */
  function editionNow(withinMs = LOOK_MS): Edition | undefined {
    const ours = cache && !closed ? threads.edition() : undefined;
    return ours && { ours, other: clamd ? otherWithin(withinMs) : NO_OTHER };
  }

  /**
   * By what a content would be scanned. Only what is known already is worth a look at clamd's files: for the rest the last one will do, as
   * whether all is still the same is asked when the verdict is to be kept.
   */
  function editionFor(content: Content): Edition | undefined {
    const other = clamd?.edition?.last();
    if (!other || cache?.knows(content)) return editionNow();
    const ours = closed ? undefined : threads.edition();
    return ours && { ours, other };
  }

  /** Kept only if nothing has changed since the scan began: otherwise nobody knows by what it was scanned. */
  function remember(verdict: Verdict, { content, began, cleanIfOpened }: Recall): void {
    const now = editionNow(KEEP_LOOK_MS);
    if (!content || !began || !now || now.ours !== began.ours) return;
    const other = now.other === began.other ? began.other : undefined;
    const ourPart = verdict.kind === "clean" && cleanIfOpened !== undefined;
    cache?.keep(content, { ours: began.ours, other }, { verdict, ...(ourPart && { cleanIfOpened }) });
  }

  /** Rules and members, of a file that is here as a whole. `decrypted`: something in it was encrypted and has been opened. */
  async function unpackAndMatch(
    file: Spooled,
    { ready, recall }: { ready: Ready; recall: Recall },
    signal: AbortSignal,
  ): Promise<{ verdict: Verdict; decrypted?: true }> {
    const opens = clamd ? [...clamd.opens()] : [];
    ready.left = opens;
    const opened = opens.join(" ");
    if (clamd && recall.cleanIfOpened === opened) {
      ready.resolve();
      return { verdict: CLEAN };
    }
    delete recall.cleanIfOpened;
    let shown = false;
    const show: Clamd["show"] | undefined =
      clamd &&
      ((members, until) => {
        shown = true;
        return clamd.show(members, until);
      });
    const { share } = recall;
    const outcome = await threads.run(file, { signal, share, other: show && { gets: "file", opens, show } });
    if (outcome.kind !== "crowded") {
      if (opened !== lastOpened) lastOpened = opened;
      if (clamd && outcome.kind === "clean" && !shown && !outcome.decrypted) recall.cleanIfOpened = lastOpened;
      if (isHopeless(outcome)) ready.reject(new Withheld());
      else ready.resolve();
      return outcome.kind === "clean" ? { ...outcome, verdict: CLEAN } : { verdict: outcome };
    }
    // Too much for clamd at once: it gets every member by itself, and the file as a whole only if that is no trap.
    ready.reject(new Withheld());
    return { verdict: await showApart(file, { gets: "contents", share }, signal) };
  }

  /** Looks at a file with nothing in it being left to clamd's own unpacker. */
  async function showApart(
    file: Spooled,
    { gets, share }: { gets: "contents" | "members"; share: string | undefined },
    signal: AbortSignal,
  ): Promise<Verdict> {
    const outcome = await threads.run(file, { signal, share, other: clamd && { gets, opens: [], show: clamd.show } });
    if (outcome.kind === "crowded") throw new Error("a file was too crowded although nothing was left to clamd");
    return outcome.kind === "clean" ? CLEAN : outcome;
  }

  async function scanSmall(bytes: Uint8Array, signal: AbortSignal, asked?: AskedDigest): Promise<Verdict> {
    if (closed) throw new EngineUnavailable("the engine is closed");
    const content = cache && contentOf(bytes);
    const sha256 = (): string => hexOf((content ?? contentOf(bytes)).digest);
    if (asked?.of === "all") asked.tell(sha256());
    const tellFinding = ({ kind }: Verdict): void => {
      if (asked?.of === "findings" && kind !== "clean") asked.tell(sha256());
    };
    const recall: Recall = { began: content && editionFor(content), share: asked?.share };
    const seen = content && recall.began?.other && lookUp(recall, content, recall.began);
    if (seen) {
      tellFinding(seen);
      return seen;
    }
    const file: Spooled = { kind: "memory", bytes };
    const plain = !mayHoldMembers(memoryBlob(bytes));
    const verdict = await scanUnknown(file, { plain, recall, content }, signal);
    tellFinding(verdict);
    return finished(verdict, recall, () => sampleOf(bytes));
  }

  async function scanUnknown(
    file: Spooled & { kind: "memory" },
    { plain, recall, content }: { plain: boolean; recall: Recall; content: Content | undefined },
    signal: AbortSignal,
  ): Promise<Verdict> {
    const whole = wholeBytes(file.bytes);
    // It holds nothing, and no rule can match it.
    if (plain && !threads.mayMatch(file.bytes)) {
      const said = clamd ? await clamd.scan(whole, signal).catch(ifExchanged) : CLEAN;
      const { share } = recall;
      if (said === "exchanged") return showApart(file, { gets: "contents", share }, signal);
      return isBeyondLimits(said) ? showApart(file, { gets: "members", share }, signal) : said;
    }
    // clamd has to be asked; our part may be known all the same.
    if (content && recall.began && !recall.content) lookUp(recall, content, recall.began);
    const ready = openEnd();
    if (plain) ready.resolve();
    const byClamd = clamd && wholeFile(clamd, whole, { ready, signal });
    return byBoth({ byClamd, ready, recall, spooled: async () => file }, signal);
  }

  async function scanLarge(
    bytes: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    asked?: AskedDigest,
  ): Promise<Verdict> {
    const recall: Recall = { began: editionNow(), share: asked?.share };
    const digest = recall.began || asked ? createHash("sha256") : undefined;
    const sample = fileType && sampler();
    const passing = digest || sample ? seenBy(bytes, digest, sample) : bytes;
    const ready = openEnd();
    const [forThreads = passing, forClamd = passing] = clamd ? broadcast(passing, 2) : [passing];
    const stop = (reader: AsyncIterable<Uint8Array>) => (): void => {
      if ("stop" in reader && typeof reader.stop === "function") reader.stop();
    };
    const byClamd = clamd && wholeFile(clamd, forClamd, { ready, signal }).finally(stop(forClamd));
    const spooled = async (): Promise<Spooled | Verdict> => {
      const file = await threads.spool(forThreads, signal).finally(stop(forThreads));
      const sizeBytes = file.kind === "file" ? file.size : file.bytes.length;
      if (digest) recall.content = { digest: digest.digest("binary"), sizeBytes };
      const seen = recall.began && recall.content && lookUp(recall, recall.content);
      if (!seen) return file;
      release(file);
      return seen;
    };
    const verdict = await byBoth({ byClamd, ready, recall, spooled }, signal);
    if (recall.content) asked?.tell(hexOf(recall.content.digest));
    return finished(verdict, recall, () => sample?.sample());
  }

  /** The verdict of now, if it is known. What is known of our part alone is noted. */
  function lookUp(recall: Recall, content: Content, now = editionNow()): Verdict | undefined {
    recall.content = content;
    const known = now && cache?.find(content, now);
    if (known?.cleanIfOpened !== undefined) recall.cleanIfOpened = known.cleanIfOpened;
    return known?.verdict;
  }

  function finished(verdict: Verdict, recall: Recall, sample: () => Sample | undefined): Verdict {
    if (verdict.kind !== "unscannable" && verdict.cached) return verdict;
    const both = fileType && sample();
    const typed = both ? { ...verdict, fileType: fileType(both) } : verdict;
    remember(typed, recall);
    return typed;
  }

  /** What clamd says to the file as it is, and we to all that is in it. */
  async function byBoth({ byClamd, ready, recall, spooled }: Looks, signal: AbortSignal): Promise<Verdict> {
    // Who waits for it comes later.
    byClamd?.catch(() => {});
    let overruled = false;

    async function byThreads(): Promise<Verdict> {
      const file = await spooled();
      if (isVerdict(file)) {
        overruled = true;
        ready.reject(new Withheld());
        return file;
      }
      try {
        const { verdict, decrypted = false } = await unpackAndMatch(file, { ready, recall }, signal);
        const said = verdict.kind === "clean" ? await byClamd?.catch(ifExchanged) : undefined;
        const apart = said && shownApart(said, decrypted);
        if (!apart) return verdict;
        overruled = true;
        return await showApart(file, { gets: apart, share: recall.share }, signal);
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
    return together((await Promise.allSettled(scans)).slice(byClamd && overruled ? 1 : 0));
  }

  return {
    async scan(bytes, signal, asked) {
      // What is here as a whole is small.
      if (isWhole(bytes)) return scanSmall(bytes.takeAll(), signal, asked);
      const file = await gathered(bytes, SMALL_FILE_BYTES, signal);
      return file.kind === "large" ? scanLarge(file.bytes, signal, asked) : scanSmall(file.content, signal, asked);
    },

    scannedBy() {
      const version = clamd?.version?.();
      if (!by || by.version !== version) by = { version, scannedBy: scannedBy(name, version) };
      return by.scannedBy;
    },

    ...(cache && { cacheCounts: cache.counts }),

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
/** No clamd loads other signatures in that time. */
const LOOK_MS = 1;
/**
 * What is kept is given out only after a look that finds all as it was when the scan began. This one is for what looks old again by then:
 * other signatures that were loaded and taken away in between.
 */
const KEEP_LOOK_MS = 20;
/** Stands for the edition of an engine that is not there. */
const NO_OTHER = {};

/** What is known of a file from an earlier time, and what is to be known of it later. */
interface Recall {
  /** By what the scan began. */
  began: Edition | undefined;
  /** The tenant that waits for a thread. */
  share?: string | undefined;
  content?: Content;
  cleanIfOpened?: string;
}

interface Looks {
  byClamd: Promise<Verdict> | undefined;
  ready: Ready;
  recall: Recall;
  /** The file when it is here as a whole, or what is known of it already. */
  spooled(): Promise<Spooled | Verdict>;
}

/** A file beyond our limits would hold clamd for as long, and its word would not count. */
function isHopeless(verdict: Verdict): boolean {
  if (verdict.kind !== "unscannable") return verdict.kind === "infected";
  return verdict.finding === findings.limitsExceeded || verdict.finding === findings.timeout;
}

/** Only clamd does not know what is in it: too much for it at once, or encrypted, and we have the key; or it was another clamd. */
function shownApart(said: Verdict | "exchanged", decrypted: boolean): "contents" | "members" | undefined {
  if (said === "exchanged") return "contents";
  if (isBeyondLimits(said)) return "members";
  return decrypted && isEncrypted(said) ? "contents" : undefined;
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

function scannedBy(name: string, version: ClamdVersion | undefined): ScannedBy {
  const engine = version ? `${name} with ${version.product}` : name;
  return version?.signatures ? { engine, signatures: version.signatures.number } : { engine };
}

function isVerdict(file: Spooled | Verdict): file is Verdict {
  return file.kind !== "memory" && file.kind !== "file";
}
