import type { CallbackFailures } from "../../deliver/callback-failures.ts";
import type { ResultStore } from "../../deliver/result-store.ts";
import { alarm } from "../../flow/alarm.ts";
import { type DeadLetters, type JobBrowser, type JobQueue, LEASE_SECONDS } from "../../queue/job-queue.ts";
import type { UsageMeter } from "../../scan/usage-meter.ts";
import type { Sealer } from "../embedded/sealed.ts";
import { tableCallbackFailures } from "./callback-failures.ts";
import { sqsDeadLetters } from "./dead-letters.ts";
import { tableBrowser } from "./job-browser.ts";
import { jobItems } from "./job-items.ts";
import { type JobMessages, jobMessages } from "./job-message.ts";
import { sqsQueue } from "./job-queue.ts";
import { addedClock } from "./job-state.ts";
import { messageQueue } from "./message-queue.ts";
import { type AwsClientOptions, awsClients } from "./queue/aws-clients.ts";
import { itemBrowser } from "./queue/items/browse-items.ts";
import type { StoreParts } from "./queue/store-parts.ts";
import type { RawChecks } from "./raw-messages.ts";
import { tableResults } from "./results.ts";
import { table } from "./table.ts";
import { tableUsage } from "./usage.ts";

/** Jobs in SQS, their states and results in DynamoDB. Any number of processes may use them at once. */
export interface JobStore {
  queue: JobQueue;
  results: ResultStore;
  deadLetters: DeadLetters;
  browser: JobBrowser;
  callbackFailures: CallbackFailures;
  usage: UsageMeter;
  /** Ends all waiting and drops the connections. What is under way should be over. */
  close(): Promise<void>;
}

export interface JobStoreOptions extends AwsClientOptions {
  queueUrl: string;
  deadLetterQueueUrl: string;
  tableName: string;
  checks: RawChecks;
  /** Seals what clients sent. Throws `QueueUnavailable` while that cannot be. */
  sealer(): Promise<Sealer>;
  now?: () => number;
  leaseSeconds?: number;
}

/** Nothing is asked before it is needed: a store that cannot be reached says so then. */
export function openJobStore(options: JobStoreOptions): JobStore {
  const { queueUrl, deadLetterQueueUrl, tableName, checks, now = Date.now, leaseSeconds = LEASE_SECONDS } = options;
  const { sqs, dynamodb } = awsClients(options);
  const items = table(dynamodb, tableName);
  const { results, expectations } = tableResults(items, now);
  let made: { sealer: Sealer; messages: JobMessages } | undefined;
  const messages = async (): Promise<JobMessages> => {
    const sealer = await options.sealer();
    if (made?.sealer !== sealer) made = { sealer, messages: jobMessages(sealer) };
    return made.messages;
  };
  const parts: StoreParts = {
    jobs: messageQueue(sqs, queueUrl, "job queue"),
    deadLetters: messageQueue(sqs, deadLetterQueueUrl, "dead letter queue"),
    items: jobItems(items),
    messages,
    browser: itemBrowser(items),
    expectations,
    alarm: alarm(),
    nextAdded: addedClock(now),
    checks,
    leaseSeconds,
    now,
  };
  const queue = sqsQueue(parts);
  return {
    queue,
    results,
    deadLetters: sqsDeadLetters(parts),
    browser: tableBrowser(parts),
    callbackFailures: tableCallbackFailures(items, now),
    usage: tableUsage({ dynamodb, tableName, table: items }, now),
    async close() {
      parts.alarm.stop();
      await queue.close();
      sqs.destroy();
      dynamodb.destroy();
    },
  };
}
