import type { DownloadScanResultDetail, DownloadScanResultEvent, ScanResultEvent } from "@lazaret/contract";
import { DOWNLOAD_SCAN_RESULT, EVENT_SOURCE } from "@lazaret/contract";

/** Where results are told to whoever listens. Used when ReportEventBus is true. */
export interface EventBus {
  /** Durable when it resolves, and does not wait for targets. Called again with the same id after a crash. */
  publish(event: BusEvent): Promise<void>;
  close(): Promise<void>;
}

export type BusEvent = ScanResultEvent | DownloadScanResultEvent;

export interface EventOrigin {
  account: string;
  region: string;
  newId(): string;
  now(): number;
}

/** A detail in the envelope that everything on the bus has. */
export function downloadScanResultEvent(
  detail: DownloadScanResultDetail,
  origin: EventOrigin,
): DownloadScanResultEvent {
  return {
    version: "0",
    id: origin.newId(),
    "detail-type": DOWNLOAD_SCAN_RESULT,
    source: EVENT_SOURCE,
    account: origin.account,
    time: new Date(origin.now()).toISOString(),
    region: origin.region,
    resources: [],
    detail,
  };
}
