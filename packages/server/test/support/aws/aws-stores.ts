import { randomBytes } from "node:crypto";
import { type JobStore, type JobStoreOptions, openJobStore } from "../../../src/platforms/aws/platform.ts";
import { sealer } from "../../../src/platforms/shared/sealed.ts";
import { LEASE_SECONDS } from "../../../src/queue/job-queue.ts";
import type { Stores } from "../../contracts/stores.ts";
import { type DynamoDbServer, dynamoDbElsewhere, startDynamoDb } from "./dynamodb.ts";
import { rawChecks } from "./raw-checks.ts";
import { type SqsServer, sqsElsewhere, startSqs } from "./sqs.ts";

/** Queues and tables, and stores on them. */
export interface AwsServers extends AsyncDisposable {
  /** Their clock is told, and not that of the machine. */
  toldClock: boolean;
  sqs: SqsServer;
  dynamodb: DynamoDbServer;
  /** On queues and a table of their own. */
  stores(options?: Partial<JobStoreOptions>): Promise<AwsStores>;
}

export interface AwsStores extends Stores {
  options: JobStoreOptions;
  close: JobStore["close"];
  another(): Promise<AwsStores>;
}

/** One key for all stores, as for all processes of an installation. */
const testSealer = sealer(randomBytes(32));

/** Where time cannot be told to pass, leases are short. */
const SHORT_LEASE_SECONDS = 3;

/** However slow the machine is: a send that is given up and tried again arrives twice. */
const PATIENT_MS = 60_000;

/** Nobody listens there. */
const NOBODY = "http://127.0.0.1:1";

/** Servers on loopback; or those at LAZARET_AWS_ENDPOINT, which only the contract suites are made for. */
export async function startAws(): Promise<AwsServers> {
  const elsewhere = process.env.LAZARET_AWS_ENDPOINT;
  const leaseSeconds = elsewhere ? SHORT_LEASE_SECONDS : LEASE_SECONDS;
  const [sqs, dynamodb] = elsewhere
    ? [sqsElsewhere(elsewhere), dynamoDbElsewhere(elsewhere)]
    : await Promise.all([startSqs(), startDynamoDb()]);

  function open(options: JobStoreOptions): AwsStores {
    const store = openJobStore(options);
    return {
      ...store,
      options,
      leaseSeconds,
      now: sqs.now,
      advance: sqs.advance,
      // DynamoDB does, in its time.
      sweep: async () => {},
      async damageKept() {
        for (const item of await dynamodb.items(options.tableName)) {
          const kept = /^(history|findings)/.test(item.pk?.S ?? "") && item.content !== undefined;
          if (kept) await dynamodb.put(options.tableName, { ...item, content: { S: item.content?.S?.slice(1) ?? "" } });
        }
      },
      another: async () => open(options),
      unwritable: async () => open({ ...options, endpoints: { sqs: NOBODY, dynamodb: NOBODY } }),
      [Symbol.asyncDispose]: store.close,
    };
  }

  return {
    toldClock: elsewhere === undefined,
    sqs,
    dynamodb,

    async stores(options = {}) {
      const [queues, tableName] = await Promise.all([sqs.queues(), dynamodb.table()]);
      const endpoints = { sqs: sqs.endpoint, dynamodb: dynamodb.endpoint };
      return open({
        ...queues,
        tableName,
        endpoints,
        region: "us-east-1",
        checks: rawChecks,
        sealer: async () => testSealer,
        now: sqs.now,
        leaseSeconds,
        requestTimeoutMs: PATIENT_MS,
        ...options,
      });
    },

    async [Symbol.asyncDispose]() {
      await sqs[Symbol.asyncDispose]();
      await dynamodb[Symbol.asyncDispose]();
    },
  };
}
