import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { AccessStore } from "../../access/access-store.ts";
import type { AuditLog } from "../../access/audit-log.ts";
import type { SharedCounts } from "../../access/shared-counts.ts";
import type { CallbackFailures } from "../../deliver/callback-failures.ts";
import { messageId } from "../../deliver/event-bus.ts";
import type { Findings } from "../../deliver/findings.ts";
import type { ResultStore } from "../../deliver/result-store.ts";
import { alarm } from "../../flow/alarm.ts";
import type { JobHistory } from "../../queue/job-history.ts";
import { type DeadLetters, type JobBrowser, type JobQueue, LEASE_SECONDS } from "../../queue/job-queue.ts";
import type { UsageMeter } from "../../scan/usage-meter.ts";
import type { Platform } from "../platform.ts";
import { type Retention, USUAL_RETENTION } from "../shared/retention.ts";
import type { Sealer } from "../shared/sealed.ts";
import { tableAccess } from "./access-store.ts";
import { tableAudit } from "./audit-log.ts";
import { awsBookmarks } from "./bookmarks.ts";
import { tableCallbackFailures } from "./callback-failures.ts";
import { type AwsOptions, queueConfig, tableConfig } from "./clients.ts";
import { sqsDeadLetters } from "./dead-letters.ts";
import { eventBridge } from "./event-bus.ts";
import { tableFindings } from "./findings.ts";
import { snsTopic } from "./findings-topic.ts";
import { itemBrowser, tableBrowser } from "./job-browser.ts";
import { tableHistory } from "./job-history.ts";
import { jobItems } from "./job-items.ts";
import { type JobMessages, jobMessages } from "./job-message.ts";
import { sqsQueue } from "./job-queue.ts";
import { addedClock } from "./job-state.ts";
import type { StoreParts } from "./job-store.ts";
import { messageQueue } from "./message-queue.ts";
import type { RawChecks } from "./raw-messages.ts";
import { tableResults } from "./results.ts";
import { sealingKey } from "./secrets.ts";
import { tableCounts } from "./shared-counts.ts";
import { secretKeys } from "./signing-keys.ts";
import { table } from "./table.ts";
import { tableUsage } from "./usage.ts";
import { waitingJobs } from "./waiting-jobs.ts";

export interface AwsPlatformOptions extends AwsOptions {
  stackName: string;
  /** Of this machine. */
  dataDir: string;
  queueUrl: string;
  deadLettersUrl: string;
  tableName: string;
  topicArn: string;
  busName: string;
  signingSecret: string;
  /** Of the key that seals what clients sent. */
  sealingSecret: string;
  /** What messages of other producers on the queue have to pass. */
  checks: RawChecks;
  now: () => number;
  /** How long finished jobs and findings are kept. */
  kept?: Retention;
}

/** Everything in the services of one AWS account and region. Any number of processes may be at it. */
export async function awsPlatform(options: AwsPlatformOptions): Promise<Platform> {
  const { endpoint, region, queueUrl, deadLettersUrl, tableName, checks, now } = options;
  const services = { endpoint, region };
  const sealing = sealingKey({ ...services, secretName: options.sealingSecret });
  const store = openJobStore({
    sealer: sealing.sealer,
    region,
    endpoints: { sqs: endpoint, dynamodb: endpoint },
    queueUrl,
    deadLetterQueueUrl: deadLettersUrl,
    tableName,
    checks,
    now,
    kept: options.kept,
  });
  const topic = snsTopic({ ...services, topicArn: options.topicArn });
  const eventBus = eventBridge({ ...services, busName: options.busName });
  const signingKeys = secretKeys({ ...services, secretName: options.signingSecret, stackName: options.stackName });
  const [, , , regionOfTopic = "", account = ""] = options.topicArn.split(":");
  return {
    ...store,
    bookmarks: awsBookmarks(options.dataDir),
    signingKeys,
    topic,
    eventBus,
    consoleSecret: async () => (await sealing.sealer()).consoleSecret,
    tenantId: messageId(queueUrl, "tenant"),
    account,
    region: regionOfTopic,
    async close() {
      await store.close();
      await eventBus.close();
      topic.close();
      signingKeys.close();
      sealing.close();
    },
  };
}

/** Jobs in SQS, their states and results in DynamoDB. Any number of processes may use them at once. */
export interface JobStore {
  queue: JobQueue;
  results: ResultStore;
  deadLetters: DeadLetters;
  browser: JobBrowser;
  history: JobHistory;
  findings: Findings;
  callbackFailures: CallbackFailures;
  usage: UsageMeter;
  access: AccessStore;
  audit: AuditLog;
  sharedCounts: SharedCounts;
  /** Ends all waiting and drops the connections. What is under way should be over. */
  close(): Promise<void>;
}

export interface JobStoreOptions {
  region?: string | undefined;
  endpoints?: { sqs?: string | undefined; dynamodb?: string | undefined };
  /** From a request to its answer, for each try. */
  requestTimeoutMs?: number;
  queueUrl: string;
  deadLetterQueueUrl: string;
  tableName: string;
  checks: RawChecks;
  /** Seals what clients sent. Throws `QueueUnavailable` while that cannot be. */
  sealer(): Promise<Sealer>;
  now?: () => number;
  leaseSeconds?: number;
  /** How long finished jobs and findings are kept. */
  kept?: Retention | undefined;
}

/**
 * Nothing is asked before it is needed: a store that cannot be reached says so then.
 * @internal the contract suites open it without the rest of the platform
 */
export function openJobStore(options: JobStoreOptions): JobStore {
  const { queueUrl, deadLetterQueueUrl, tableName, checks, now = Date.now, leaseSeconds = LEASE_SECONDS } = options;
  const { region, endpoints = {}, requestTimeoutMs } = options;
  const sqs = new SQSClient(queueConfig({ region, requestTimeoutMs, endpoint: endpoints.sqs }));
  const dynamodb = new DynamoDBClient(tableConfig({ region, requestTimeoutMs, endpoint: endpoints.dynamodb }));
  const items = table(dynamodb, tableName);
  const ofJobs = jobItems(items);
  const { results, expectations } = tableResults(items, now);
  let made: { sealer: Sealer; messages: JobMessages } | undefined;
  const messages = async (): Promise<JobMessages> => {
    const sealer = await options.sealer();
    if (made?.sealer !== sealer) made = { sealer, messages: jobMessages(sealer) };
    return made.messages;
  };
  const { kept = USUAL_RETENTION } = options;
  const history = tableHistory({ table: items, kept, now });
  const parts: StoreParts = {
    jobs: messageQueue(sqs, queueUrl, "job queue"),
    deadLetters: messageQueue(sqs, deadLetterQueueUrl, "dead letter queue"),
    items: ofJobs,
    waiting: waitingJobs({ table: items, items: ofJobs, now }),
    messages,
    browser: itemBrowser(items),
    expectations,
    history,
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
    history,
    findings: tableFindings({ table: items, kept, now }),
    callbackFailures: tableCallbackFailures(items, now),
    usage: tableUsage(items, now),
    access: tableAccess(items, now),
    audit: tableAudit(items, now),
    sharedCounts: tableCounts(items, now),
    async close() {
      parts.alarm.stop();
      await queue.close();
      sqs.destroy();
      dynamodb.destroy();
    },
  };
}
