import type { EventBus } from "../deliver/event-bus.ts";
import type { FindingsTopic } from "../deliver/findings-topic.ts";
import type { ResultStore } from "../deliver/result-store.ts";
import type { SigningKeys } from "../deliver/signing-keys.ts";
import type { DeadLetters, JobBrowser, JobQueue } from "../queue/job-queue.ts";

/** One coherent set of adapters behind the same ports. */
export interface Platform {
  queue: JobQueue;
  results: ResultStore;
  deadLetters: DeadLetters;
  browser: JobBrowser;
  signingKeys: SigningKeys;
  topic: FindingsTopic;
  eventBus: EventBus;
  /** Where events say that they come from. */
  account: string;
  region: string;
  close(): Promise<void>;
}
