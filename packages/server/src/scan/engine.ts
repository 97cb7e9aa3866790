import type { ScannedBy } from "../model/report.ts";
import type { Verdict } from "../model/verdict.ts";
import type { CacheCounts } from "./verdict-cache.ts";

/**
 * Scans one stream of bytes, once. Called by the pipeline for every file.
 *
 * Answers for every stream it read to its end. When `bytes` throws, the engine stops, frees what it held and throws
 * that same error; it does so with `signal.reason`, at the latest, when the signal is aborted. Throws `EngineUnavailable`
 * when the engine itself cannot be asked or fails to answer, so that nothing is made up and the job runs again. Never
 * answers clean for bytes it did not look at. It may remember what it said of the very same bytes, for as long as it is certain
 * that it would say so again (`VerdictCache`), and marks such a verdict as `cached`. Each adapter passes test/contracts/engine.ts.
 */
export interface Engine {
  scan(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal, digest?: AskedDigest): Promise<Verdict>;
  /** Asked by readiness; never throws. */
  health(signal: AbortSignal): Promise<EngineHealth>;
  /** Frees connections, threads and child processes. Scans under way fail. */
  close(): Promise<void>;
  /** By what it scans: the same object until that changes. */
  scannedBy?(): ScannedBy | undefined;
  /** For the metrics. Missing where it remembers nothing. */
  cacheCounts?(): CacheCounts;
}

/** The wish of a caller besides the verdict. The SHA-256 of all bytes, in hex, is told before it by an engine that has read them all and knows it. */
export interface AskedDigest {
  /** Of which files it is wanted. For small files that are clean it is a good part of the work. */
  of: "all" | "findings";
  tell(sha256: string): void;
  /** On whose account the file is scanned: where scans wait for the engine, those take turns. */
  share?: string | undefined;
}

interface EngineHealth {
  ready: boolean;
  /** One line per part, for people: what it is, which version, how old its signatures are, or what is wrong. */
  checks: readonly EngineCheck[];
}

export interface EngineCheck {
  name: string;
  ok: boolean;
  detail: string;
  /** Of the official signatures that are loaded, where the part has some. */
  signatureAgeSeconds?: number;
  /** When signatures were refused because they did not pass their self-test, if those that were in use before still are: for the metrics. */
  refusedAt?: number;
  /** What is in the folder of its signatures, where that can be read: for the metrics. */
  databases?: readonly EngineDatabase[];
}

/** A file of signatures: `daily.cld`, version 27815. Those that say nothing of themselves have neither version nor date. */
export interface EngineDatabase {
  name: string;
  version?: number;
  /** Milliseconds since 1970. */
  builtAt?: number;
}
