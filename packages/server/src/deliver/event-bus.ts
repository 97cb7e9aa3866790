import { hash } from "node:crypto";
import {
  type DownloadScanResultEvent,
  EVENT_SOURCE,
  type EventEnvelope,
  type ScanResultEvent,
} from "@lazaret/contract";

/** Where results are announced to its targets. Used when ReportEventBus is true. Passes test/contracts/event-bus.ts. */
export interface EventBus {
  /** Durable when it resolves, and does not wait for targets. Called again with the same id after a crash. */
  publish(event: BusEvent): Promise<void>;
  close(): Promise<void>;
}

export type BusEvent = ScanResultEvent | DownloadScanResultEvent;

export interface EventOrigin {
  account: string;
  region: string;
  now(): number;
}

/** A detail in the envelope that everything on the bus has. */
export function busEvent<DetailType extends string, Detail>(
  id: string,
  content: { detailType: DetailType; detail: Detail },
  origin: EventOrigin,
): EventEnvelope<DetailType, Detail> {
  return {
    version: "0",
    id,
    "detail-type": content.detailType,
    source: EVENT_SOURCE,
    account: origin.account,
    time: new Date(origin.now()).toISOString(),
    region: origin.region,
    resources: [],
    detail: content.detail,
  };
}

/** The id of one message about a job, as a UUID: the same whenever it is announced again. */
export function messageId(jobId: string, what: string): string {
  const digits = hash("sha256", `${what}\0${jobId}`);
  // Version 8 and the usual variant: a UUID of our own making.
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `8${digits.slice(13, 16)}`, `a${digits.slice(17, 20)}`];
  return [...parts, digits.slice(20, 32)].join("-");
}
