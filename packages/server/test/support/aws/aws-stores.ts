import { type JobStore, type JobStoreOptions, openJobStore } from "../../../src/platforms/aws/job-store.ts";
import { LEASE_SECONDS } from "../../../src/queue/job-queue.ts";
import type { Stores } from "../../contracts/stores.ts";
import { type DynamoDbServer, startDynamoDb } from "./dynamodb.ts";
import { rawChecks } from "./raw-checks.ts";
import { type SqsServer, startSqs } from "./sqs.ts";

/** Queues and tables on loopback, and stores on them. */
export interface AwsServers extends AsyncDisposable {
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

export async function startAws(): Promise<AwsServers> {
  const [sqs, dynamodb] = await Promise.all([startSqs(), startDynamoDb()]);

  function open(options: JobStoreOptions): AwsStores {
    const store = openJobStore(options);
    return {
      ...store,
      options,
      leaseSeconds: LEASE_SECONDS,
      advance: sqs.advance,
      another: async () => open(options),
      [Symbol.asyncDispose]: store.close,
    };
  }

  return {
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
        now: sqs.now,
        ...options,
      });
    },

    async [Symbol.asyncDispose]() {
      await sqs[Symbol.asyncDispose]();
      await dynamodb[Symbol.asyncDispose]();
    },
  };
}
