import type { SeenObject, SourceFailure } from "./source.ts";
import type { Verdict } from "./verdict.ts";

/** Verdict, size and timings: the one value every output is rendered from. */
export interface Report {
  verdict: Verdict;
  /**
   * Bytes that were read; for a verdict of clean or infected that is the whole file. Of an object, and of a file that
   * announced that it is too big, its length.
   */
  sizeBytes: number;
  /** Time spent waiting for the source. */
  downloadSeconds: number;
  /** Time spent by the engine, and waiting for it. */
  scanSeconds: number;
  /** Set for an object that could be opened. */
  object?: SeenObject;
  /** In hex, of the whole content; undefined where it was not read to its end, or nobody had to know it. */
  sha256?: string;
  /** Set when an engine had its say. */
  scannedBy?: ScannedBy;
  /** Set when the source could not be read to its end. */
  failure?: SourceFailure;
}

/** What scanned a file, as it was known by the last look at the engine's health: signatures may be a little newer than that. */
export interface ScannedBy {
  /** The variant, and the product of the engine beside it, if there is one. */
  engine: string;
  /** The number of that engine's official signatures. */
  signatures?: string;
}

/** A report as fields of a log line. */
export function noteOf(report: Report): Readonly<Record<string, string | number | boolean | undefined>> {
  return {
    verdict: report.verdict.kind,
    finding: report.verdict.kind === "clean" ? undefined : report.verdict.finding,
    detail: report.verdict.kind === "unscannable" ? report.verdict.detail : undefined,
    member: report.verdict.kind === "infected" ? report.verdict.member : undefined,
    type: report.verdict.fileType,
    cached: report.verdict.kind === "unscannable" ? undefined : report.verdict.cached,
    bytes: report.sizeBytes,
    download_ms: Math.round(report.downloadSeconds * 1000),
    scan_ms: Math.round(report.scanSeconds * 1000),
    failure: report.failure?.code,
  };
}
