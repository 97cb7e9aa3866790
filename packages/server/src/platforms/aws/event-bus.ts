import { setTimeout as pause } from "node:timers/promises";
import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from "@aws-sdk/client-eventbridge";
import type { BusEvent, EventBus } from "../../deliver/event-bus.ts";
import { QueueUnavailable } from "../../model/faults.ts";
import { awsFailure } from "./aws-unavailable.ts";
import { takeBatch } from "./batching.ts";
import { type AwsOptions, accountConfig } from "./clients.ts";

export interface EventBridgeOptions extends AwsOptions {
  /** Name or ARN. */
  busName: string;
  /** Between the tries of an entry that was refused, times the number of the try. */
  retryMs?: number;
}

interface Waiting {
  entry: PutEventsRequestEntry;
  resolve(): void;
  reject(error: unknown): void;
}

/** EventBridge's limits. An event that is too large alone is for EventBridge to refuse. */
const ONE_CALL = { largest: 10, weight: sizeOf, heaviest: 256 * 1024 };
const RETRY_MS = 500;
const TRIES = 4;

/**
 * The event bus on EventBridge. What is published within one turn of the event loop, or while a call is under way, shares the
 * next call; each entry is answered for itself, and tried again for itself. EventBridge gives events ids of its own.
 */
export function eventBridge({ busName, retryMs = RETRY_MS, ...options }: EventBridgeOptions): EventBus {
  const client = new EventBridgeClient(accountConfig(options));
  const waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      await new Promise(setImmediate);
      await put(takeBatch(waiting, ONE_CALL));
    }
    flushing = undefined;
  }

  async function put(batch: readonly Waiting[]): Promise<void> {
    let left = batch;
    let reason = "";
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      try {
        const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: left.map(({ entry }) => entry) }));
        const refused = left.filter((_, index) => Entries[index]?.EventId === undefined);
        for (const each of left) if (!refused.includes(each)) each.resolve();
        reason = Entries.find((entry) => entry.ErrorCode)?.ErrorCode ?? "an entry was not confirmed";
        left = refused;
      } catch (error) {
        reason = awsFailure("put events", error).message;
        break;
      }
      if (left.length === 0) return;
      if (attempt < TRIES) await pause(retryMs * attempt);
    }
    for (const { reject } of left)
      reject(new QueueUnavailable(`cannot publish to the event bus ${busName}: ${reason}`));
  }

  return {
    publish(event) {
      return new Promise((resolve, reject) => {
        waiting.push({ entry: entryOf(event, busName), resolve, reject });
        flushing ??= flush();
      });
    },
    async close() {
      await flushing;
      client.destroy();
    },
  };
}

function entryOf(event: BusEvent, busName: string): PutEventsRequestEntry {
  return {
    EventBusName: busName,
    Source: event.source,
    DetailType: event["detail-type"],
    Detail: JSON.stringify(event.detail),
    Time: new Date(event.time),
    Resources: event.resources,
  };
}

/** As EventBridge counts: 14 bytes for the time, and the texts in UTF-8. */
function sizeOf({ Source = "", DetailType = "", Detail = "", Resources = [] }: PutEventsRequestEntry): number {
  return 14 + [Source, DetailType, Detail, ...Resources].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}
