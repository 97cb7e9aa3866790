import { findings } from "@lazaret/contract";
import { type MeasuredBytes, measured } from "../fetch/measured-bytes.ts";
import { type SteadyOptions, steadySource } from "../fetch/steady-source.ts";
import { timeLimit } from "../flow/time-limit.ts";
import { isWhole, wholeBytes } from "../flow/whole-bytes.ts";
import type { ScanMeter } from "../metrics/scan-meter.ts";
import { Busy, EngineUnavailable } from "../model/faults.ts";
import type { Report, ScannedBy } from "../model/report.ts";
import { type OpenedSource, type Source, SourceFailed } from "../model/source.ts";
import type { Account } from "../model/tenant.ts";
import type { Verdict } from "../model/verdict.ts";
import type { Admitted } from "../scan/admission.ts";
import type { AskedDigest, Engine } from "../scan/engine.ts";
import type { Span } from "../traces/spans.ts";
import { fileSpans } from "./file-spans.ts";
import { type Again, afterEngineFault, afterFailedDownload, type ScanCounts } from "./retry-policy.ts";

/** What the middle of every scan needs. */
export interface Stages {
  /** Opens a source. Throws `SourceFailed` when it cannot be read. */
  open(source: Source, signal: AbortSignal, span?: Span): Promise<OpenedSource>;
  engine: Engine;
  now(): number;
  /** Bytes per second that a source must bring for a scan with a `place`; 0 for any. */
  minRate?: number;
  /** Called for every scan that came to a report in time, on somebody's account. */
  onScanned?(account: Account, bytes: number): void;
  meter?: ScanMeter;
}

export interface InspectOptions {
  /** On whose account it is; nobody's where it is not counted. */
  account?: Account;
  maxBytes: number;
  /** Which files' reports have their SHA-256; all by default. */
  digestOf?: AskedDigest["of"] | undefined;
  /** What is not done by then is reported as not scannable. */
  maxSeconds?: number;
  signal: AbortSignal;
  /** Lets the bytes through when they may be scanned; at once when there is no such thing. */
  admit?(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Admitted>;
  /** Left to others while the source is slow. */
  place?: SteadyOptions["place"] | undefined;
  /** Of the request or the run. */
  span?: Span | undefined;
}

/**
 * From a source to its report: the middle of every scan. A file that cannot be read or scanned, or not in time, is a report
 * too; only faults are thrown.
 */
export async function inspect(source: Source, stages: Stages, options: InspectOptions): Promise<Report> {
  const { maxSeconds = Number.POSITIVE_INFINITY } = options;
  if (Number.isFinite(maxSeconds)) return inspectInTime(source, stages, { ...options, maxSeconds });
  const report = await inspectBytes(source, stages, options);
  if (options.account) stages.onScanned?.(options.account, report.sizeBytes);
  return report;
}

async function inspectInTime(
  source: Source,
  stages: Stages,
  { maxSeconds, signal, ...others }: InspectOptions & { maxSeconds: number },
): Promise<Report> {
  using limit = timeLimit(maxSeconds * 1000, signal);
  try {
    return await inspect(source, stages, { ...others, signal: limit.signal });
  } catch (error) {
    if (limit.expired && !signal.aborted && !(error instanceof Busy)) return tookTooLong(maxSeconds);
    throw error;
  }
}

async function inspectBytes(source: Source, stages: Stages, options: InspectOptions): Promise<Report> {
  const { maxBytes, place, signal } = options;
  const { meter } = stages;
  let admitted: Admitted | undefined;
  const started = stages.now();
  let opened: OpenedSource | undefined;
  let openedAt: number | undefined;
  let bytes: MeasuredBytes | undefined;
  let sha256: string | undefined;
  let by: ScannedBy | undefined;
  const spans = options.span && fileSpans(options.span, source);

  const open = (until: AbortSignal): Promise<OpenedSource> => stages.open(source, until, spans?.fetching);
  const report = (verdict: Verdict): Report => {
    const ended = stages.now();
    const downloadMs = (openedAt ?? ended) - started + (bytes?.waitedMs ?? 0);
    const sizeBytes = (opened?.object && opened.announcedBytes) ?? bytes?.sizeBytes ?? 0;
    const made: Report = {
      verdict,
      sizeBytes,
      downloadSeconds: downloadMs / 1000,
      scanSeconds: Math.max(0, ended - started - downloadMs) / 1000,
    };
    if (opened?.object) made.object = opened.object;
    // What an engine saw of bytes that did not all arrive is not the file.
    if (sha256 !== undefined && bytes?.complete) made.sha256 = sha256;
    if (by) made.scannedBy = by;
    return made;
  };

  try {
    opened = await (place
      ? steadySource(open, { place, minRate: stages.minRate ?? 0, maxBytes }, signal)
      : open(signal));
    openedAt = stages.now();
    bytes = measured(opened, { maxBytes, now: stages.now, signal });
    admitted = await options.admit?.(bytes, signal);
    const shown = toTheEnd(admitted?.bytes ?? bytes, opened.announcedBytes, spans?.fetched);
    spans?.scanning();
    const verdict = await stages.engine.scan(shown.bytes, signal, {
      of: options.digestOf ?? "all",
      share: options.account?.tenant,
      tell(digest) {
        sha256 = digest;
      },
    });
    by = stages.engine.scannedBy?.();
    // All of them have arrived, and it has seen all that arrived.
    if (verdict.kind === "clean" && !(bytes.complete && shown.complete)) {
      throw new EngineUnavailable("the engine answered clean before it had read every byte", { whileScanning: true });
    }
    const scanned = report(verdict);
    meter?.scanned(source.kind, scanned, admitted?.waitedMs);
    spans?.reported(scanned);
    return scanned;
  } catch (error) {
    if (admitted?.waitedMs !== undefined) meter?.waited(admitted.waitedMs);
    if (error instanceof EngineUnavailable && !signal.aborted) meter?.engineFailed();
    if (!(error instanceof SourceFailed)) {
      spans?.failed(error);
      throw error;
    }
    const { failure } = error;
    const unread = { ...report({ kind: "unscannable", finding: failure.finding }), failure };
    meter?.unread(source.kind, unread);
    const failed = { ...unread, sizeBytes: failure.announcedBytes ?? unread.sizeBytes };
    spans?.reported(failed);
    return failed;
  } finally {
    admitted?.leave();
    // An engine that fails before it reads leaves the source open. Not awaited: one that hangs would not come back.
    if (!bytes?.complete)
      void opened?.bytes[Symbol.asyncIterator]()
        .return?.()
        .catch(() => {});
  }
}

/** The same bytes, and whether they were read to their end. */
interface Shown {
  bytes: AsyncIterable<Uint8Array>;
  complete: boolean;
}

function toTheEnd(
  bytes: AsyncIterable<Uint8Array>,
  announcedBytes: number | undefined,
  onEnd: (() => void) | undefined,
): Shown {
  const shown: Shown = { bytes, complete: false };
  const atEnd = (): void => {
    shown.complete = true;
    onEnd?.();
  };
  shown.bytes = isWhole(bytes)
    ? wholeBytes(bytes.takeAll(), atEnd)
    : Object.assign(watchedForEnd(bytes, atEnd), { announcedBytes });
  return shown;
}

function watchedForEnd(bytes: AsyncIterable<Uint8Array>, atEnd: () => void): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = bytes[Symbol.asyncIterator]();
      return {
        async next() {
          const next = await iterator.next();
          if (next.done) atEnd();
          return next;
        },
        async return() {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

export interface TryOptions {
  inspect(): Promise<Report>;
  /** Called when the engine failed, whatever follows. */
  onEngineFault(error: EngineUnavailable): void;
  /** Called with every report, also with one that is tried again. */
  onReport?(report: Report): void;
  /** What `inspect` ends with. */
  signal: AbortSignal;
}

/**
 * One try of a scan that may be tried again: a source that is away for a moment, an engine that is down, and a file that the
 * engine failed over. Answers the report that stands, or when to try again, with what has failed by then.
 */
export async function tryToInspect<Counts extends ScanCounts>(
  counts: Counts,
  { inspect, onEngineFault, onReport, signal }: TryOptions,
): Promise<{ kind: "scanned"; report: Report } | Again<Counts>> {
  let report: Report;
  try {
    report = await inspect();
  } catch (error) {
    // What fails because we stop says nothing about the engine.
    if (signal.aborted || !(error instanceof EngineUnavailable)) throw error;
    onEngineFault(error);
    const next = afterEngineFault(counts, error);
    if (next.kind === "again") return next;
    report = engineFailed;
  }
  // …nor about the source.
  if (signal.aborted && report.failure) throw signal.reason;
  onReport?.(report);
  const next = afterFailedDownload(counts, report);
  return next.kind === "again" ? next : { kind: "scanned", report };
}

const engineFailed: Report = {
  verdict: { kind: "unscannable", finding: findings.engineError },
  sizeBytes: 0,
  downloadSeconds: 0,
  scanSeconds: 0,
};

function tookTooLong(seconds: number): Report {
  const verdict = { kind: "unscannable", finding: findings.timeout, detail: `not done within ${seconds} s` } as const;
  return { verdict, sizeBytes: 0, downloadSeconds: seconds, scanSeconds: 0 };
}
