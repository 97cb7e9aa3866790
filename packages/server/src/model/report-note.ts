import type { Report } from "./report.ts";

/** What a log line tells of a report. */
export function noteOf(report: Report): Readonly<Record<string, string | number | undefined>> {
  return {
    verdict: report.verdict.kind,
    finding: report.verdict.kind === "clean" ? undefined : report.verdict.finding,
    detail: report.verdict.kind === "unscannable" ? report.verdict.detail : undefined,
    member: report.verdict.kind === "infected" ? report.verdict.member : undefined,
    type: report.verdict.fileType,
    bytes: report.sizeBytes,
    download_ms: Math.round(report.downloadSeconds * 1000),
    scan_ms: Math.round(report.scanSeconds * 1000),
    failure: report.failure?.code,
  };
}
