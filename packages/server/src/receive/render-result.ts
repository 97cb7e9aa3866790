import type { ScanResult } from "@lazaret/contract";
import type { Report } from "../model/report.ts";
import { statusOf } from "../model/verdict.ts";

/** The report as the synchronous API and a poll answer it. */
export function renderResult(report: Report): ScanResult {
  const { verdict } = report;
  return {
    status: statusOf(verdict),
    ...(verdict.kind !== "clean" && { finding: verdict.finding }),
    // Of a file that was not read to its end the size is not known, unless it announced that it is too big.
    ...((!report.failure || report.failure.announcedBytes !== undefined) && { size: report.sizeBytes }),
    ...(verdict.fileType !== undefined && { realfiletype: verdict.fileType }),
  };
}
