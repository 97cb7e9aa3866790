import type { Alarm } from "../../../flow/alarm.ts";
import type { JobItems } from "../job-items.ts";
import type { JobMessages } from "../job-message.ts";
import type { MessageQueue } from "../message-queue.ts";
import type { RawChecks } from "../raw-messages.ts";
import type { Expectations } from "./expectations.ts";
import type { ItemBrowser } from "./items/browse-items.ts";

/** What the adapters on queue and table are made of. */
export interface StoreParts {
  jobs: MessageQueue;
  deadLetters: MessageQueue;
  items: JobItems;
  /** Throws `QueueUnavailable` while the key that seals them cannot be had. */
  messages(): Promise<JobMessages>;
  browser: ItemBrowser;
  expectations: Expectations;
  alarm: Alarm;
  /** What to write into `added` of the next job. */
  nextAdded(): string;
  /** What messages of other producers have to pass. */
  checks: RawChecks;
  leaseSeconds: number;
  /** Milliseconds since 1970. */
  now(): number;
}
