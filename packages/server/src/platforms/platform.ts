import type { AccessStore } from "../access/access-store.ts";
import type { AuditLog } from "../access/audit-log.ts";
import type { SharedCounts } from "../access/shared-counts.ts";
import type { CallbackFailures } from "../deliver/callback-failures.ts";
import type { EventBus } from "../deliver/event-bus.ts";
import type { Findings } from "../deliver/findings.ts";
import type { FindingsTopic } from "../deliver/findings-topic.ts";
import type { ResultStore } from "../deliver/result-store.ts";
import type { SigningKeys } from "../deliver/signing-keys.ts";
import type { Bookmarks } from "../guard/bookmarks.ts";
import type { JobHistory } from "../queue/job-history.ts";
import type { DeadLetters, JobBrowser, JobQueue } from "../queue/job-queue.ts";
import type { UsageMeter } from "../scan/usage-meter.ts";
import type { ReceiverCounts } from "./shared/messages/fan-out.ts";

/** One coherent set of adapters behind the same ports. */
export interface Platform {
  queue: JobQueue;
  results: ResultStore;
  deadLetters: DeadLetters;
  browser: JobBrowser;
  history: JobHistory;
  findings: Findings;
  signingKeys: SigningKeys;
  callbackFailures: CallbackFailures;
  usage: UsageMeter;
  access: AccessStore;
  audit: AuditLog;
  sharedCounts: SharedCounts;
  bookmarks: Bookmarks;
  /** That of the default tenant: the same as long as the installation is. */
  tenantId: string;
  /**
   * Seals sessions of the console: random, the same for all processes as long as the installation is, and not to be told from any key.
   * Throws `QueueUnavailable`.
   */
  consoleSecret(): Promise<Uint8Array>;
  topic: FindingsTopic;
  eventBus: EventBus;
  /** What waits for the receivers of topic and bus; undefined where sending is a service's business. */
  receiverCounts?(): Promise<ReceiverCounts[]>;
  /** Where events say that they come from. */
  account: string;
  region: string;
  /**
   * Writes something of no meaning where jobs are kept, as durably as a job. Throws `QueueUnavailable` when that cannot be
   * done; undefined where it is a service's business.
   */
  tryToWrite?(): Promise<void>;
  close(): Promise<void>;
}
