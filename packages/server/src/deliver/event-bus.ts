import type { DownloadScanResultDetail, DownloadScanResultEvent } from "@lazaret/contract";
import { DOWNLOAD_SCAN_RESULT, EVENT_SOURCE } from "@lazaret/contract";

/** Where results are told to whoever listens. Used when ReportEventBus is true. */
export interface EventBus {
  /** Durable when it resolves. The same result may come twice, with another id. */
  publish(event: DownloadScanResultEvent): Promise<void>;
  close(): Promise<void>;
}

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
