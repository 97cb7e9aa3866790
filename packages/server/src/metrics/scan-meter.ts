import type { Afterwards } from "../flow/afterwards.ts";
import type { Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import type { Verdict } from "../model/verdict.ts";
import { type Counter, counter, type Histogram, histogram } from "./cells.ts";

/** Hears of the steps of every scan, at the place where they are made. Nothing here throws. */
export interface ScanMeter {
  /** A source was read to its end, and the engine has looked at it. A request whose bytes were there waited so long for its slot. */
  scanned(
    source: Source["kind"],
    report: Pick<Report, "sizeBytes" | "downloadSeconds" | "scanSeconds">,
    waitedMs?: number,
  ): void;
  /** A source could not be read to its end. */
  unread(source: Source["kind"], report: Pick<Report, "downloadSeconds">): void;
  /** A request waited so long for its slot, and was not scanned in the end. */
  waited(ms: number): void;
  /** The engine gave no verdict. */
  engineFailed(): void;
  /** One part of the engine did its work. */
  part(part: EnginePart, seconds: number): void;
  /** The verdict that stands. */
  verdict(way: Way, source: Source["kind"], verdict: Verdict["kind"]): void;
  readonly parts: readonly (Counter | Histogram)[];
}

/** How a file came here: by one of the two APIs, or in a bucket that is scanned as a whole. */
type Way = "sync" | "async" | "bucket";
type EnginePart = "clamd" | "threads";

const KNOWN_WAYS: readonly (readonly [Way, Source["kind"]])[] = [
  ["sync", "upload"],
  ["sync", "url"],
  ["sync", "object"],
  ["async", "url"],
  ["async", "object"],
  ["bucket", "object"],
];
const VERDICTS: readonly Verdict["kind"][] = ["clean", "infected", "unscannable"];

const KIB = 1024;
/** A file belongs to the first that is no smaller. */
const SIZES: readonly (readonly [label: string, bytes: number])[] = [
  ["64KiB", 64 * KIB],
  ["1MiB", 1024 * KIB],
  ["16MiB", 16 * 1024 * KIB],
  ["256MiB", 256 * 1024 * KIB],
  ["larger", Number.POSITIVE_INFINITY],
];

export function scanMeter(engine: string, waitSeconds: Histogram, after: Afterwards): ScanMeter {
  const scans = counter(
    "lazaret_scans_total",
    KNOWN_WAYS.flatMap((way) => VERDICTS.map((verdict) => [...way, verdict])),
  );
  const bytesScanned = counter("lazaret_scanned_bytes_total", [[]]);
  const failures = counter("lazaret_engine_failures_total", [[]]);
  const downloadSeconds = histogram(
    "lazaret_download_duration_seconds",
    ["upload", "url", "object"].map((source) => [source, "ok"]),
  );
  const scanSeconds = histogram(
    "lazaret_scan_duration_seconds",
    SIZES.map(([size]) => [engine, size]),
  );
  const partSeconds = histogram("lazaret_engine_part_duration_seconds", [["clamd"], ["threads"]]);
  return {
    scanned: (source, report, waitedMs) =>
      after.add(() => {
        if (waitedMs !== undefined) waitSeconds.observe(["sync"], waitedMs / 1000);
        downloadSeconds.observe([source, "ok"], report.downloadSeconds);
        bytesScanned.add([], report.sizeBytes);
        const seconds = Math.max(0, report.scanSeconds - (waitedMs ?? 0) / 1000);
        scanSeconds.observe([engine, sizeLabel(report.sizeBytes)], seconds);
      }),
    unread: (source, { downloadSeconds: seconds }) =>
      after.add(() => downloadSeconds.observe([source, "failed"], seconds)),
    waited: (ms) => after.add(() => waitSeconds.observe(["sync"], ms / 1000)),
    engineFailed: () => failures.add([]),
    part: (part, seconds) => after.add(() => partSeconds.observe([part], seconds)),
    verdict: (way, source, verdict) => after.add(() => scans.add([way, source, verdict])),
    parts: [scans, bytesScanned, downloadSeconds, scanSeconds, partSeconds, failures],
  };
}

function sizeLabel(bytes: number): string {
  return SIZES.find(([, most]) => bytes <= most)?.[0] ?? "larger";
}
