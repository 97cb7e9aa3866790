import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { awsStandIn } from "../packages/server/test/support/aws/aws-stand-in.ts";
import { findingsInbox } from "../packages/server/test/support/aws/findings-inbox.ts";
import type { SqsServer } from "../packages/server/test/support/aws/sqs.ts";
import { type Postgres, startPostgres } from "./postgres.ts";

export const platforms = ["embedded", "postgres", "aws"] as const;
export type PlatformName = (typeof platforms)[number];

/** What a fleet stands on. */
export interface Storage extends AsyncDisposable {
  /** Of how many processes that fleet is. */
  readonly apis: number;
  readonly workers: number;
  /** What all its processes are told of it; on a machine of its own each has a data folder of its own. */
  envOf(machine: string): Record<string, string>;
  /** A server that is killed like the rest. */
  readonly postgres?: Postgres;
}

export function openStorage(name: PlatformName, folder: string): Promise<Storage> {
  return { embedded: onDataFolder, postgres: onPostgres, aws: onStandIns }[name](folder);
}

async function onDataFolder(folder: string): Promise<Storage> {
  return {
    apis: 1,
    workers: 2,
    envOf: () => ({ LAZARET_DATA_DIR: join(folder, "data") }),
    [Symbol.asyncDispose]: async () => {},
  };
}

async function onPostgres(folder: string): Promise<Storage> {
  const postgres = await startPostgres(join(folder, "postgres"));
  const shared = {
    LAZARET_PLATFORM: "postgres",
    LAZARET_POSTGRES_URL: postgres.url,
    LAZARET_SECRET_KEY: randomBytes(32).toString("hex"),
  };
  return {
    apis: 2,
    workers: 3,
    envOf: (machine) => ({ ...shared, LAZARET_DATA_DIR: join(folder, machine) }),
    postgres,
    [Symbol.asyncDispose]: postgres.stop,
  };
}

/** The clock of the queue stands still unless it is told to advance. */
const TICK_MS = 100;

/** Answers how to stop it. One step after the other: two at once would each make up for the same time. */
function withTheTime({ now, advance }: Pick<SqsServer, "now" | "advance">): () => Promise<void> {
  let stopped = false;
  const ticking = (async () => {
    while (!stopped) {
      await pause(TICK_MS);
      await advance((Date.now() - now()) / 1000);
    }
  })();
  return () => {
    stopped = true;
    return ticking;
  };
}

async function onStandIns(folder: string): Promise<Storage> {
  await using undo = new AsyncDisposableStack();
  const aws = undo.use(await awsStandIn());
  const { endpoint, sqs, dynamodb } = aws;
  const [queues, table, inbox] = await Promise.all([sqs.queues(), dynamodb.table(), findingsInbox(endpoint)]);
  undo.use(inbox);
  undo.defer(withTheTime(sqs));
  const shared = {
    LAZARET_PLATFORM: "aws",
    LAZARET_AWS_ENDPOINT: endpoint,
    LAZARET_AWS_QUEUE_URL: queues.queueUrl,
    LAZARET_AWS_DEAD_LETTERS_URL: queues.deadLetterQueueUrl,
    LAZARET_AWS_TABLE: table,
    LAZARET_AWS_TOPIC_ARN: inbox.topicArn,
    LAZARET_AWS_EVENT_BUS: "lazaret",
    AWS_REGION: "us-east-1",
  };
  const open = undo.move();
  return {
    apis: 2,
    workers: 3,
    envOf: (machine) => ({ ...shared, LAZARET_DATA_DIR: join(folder, machine) }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
