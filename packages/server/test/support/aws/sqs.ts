import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { MAX_ATTEMPTS } from "../../../src/queue/job-queue.ts";
import { useCredentials } from "./credentials.ts";

/** A real endpoint of SQS. The clock of the one on loopback stands still unless it is told to advance. */
export interface SqsServer extends SqsClock, AsyncDisposable {
  endpoint: string;
  /** A new pair: one that moves a message to the other when it was received too often. */
  queues(maxReceiveCount?: number): Promise<{ queueUrl: string; deadLetterQueueUrl: string }>;
  /** As other producers do. */
  send(queueUrl: string, body: string): Promise<void>;
  /** As the console does with dead letters: what is there is sent anew to the other. */
  move(fromUrl: string, toUrl: string): Promise<number>;
}

interface SqsClock {
  /** Milliseconds since 1970. */
  now(): number;
  advance(seconds: number): Promise<void>;
}

let pairs = 0;

export async function startSqs(): Promise<SqsServer> {
  const thread = new Worker(new URL("./sqs-thread.ts", import.meta.url), { execArgv: [] });
  let [{ now, port }] = await once(thread, "message");
  const clock: SqsClock = {
    now: () => now,
    async advance(seconds) {
      const advanced = once(thread, "message");
      thread.postMessage(seconds * 1000);
      [{ now }] = await advanced;
    },
  };
  return sqsAt(`http://127.0.0.1:${port}`, clock, () => thread.terminate());
}

/** At another address, where time passes by itself. */
export function sqsElsewhere(endpoint: string): SqsServer {
  return sqsAt(endpoint, { now: Date.now, advance: (seconds) => pause(seconds * 1000) }, async () => {});
}

function sqsAt(endpoint: string, clock: SqsClock, stop: () => Promise<unknown>): SqsServer {
  useCredentials();
  const client = new SQSClient({ endpoint, region: "us-east-1", useQueueUrlAsEndpoint: false });

  async function queue(name: string, attributes: Record<string, string>): Promise<{ url: string; arn: string }> {
    const { QueueUrl: url = "" } = await client.send(
      new CreateQueueCommand({ QueueName: name, Attributes: attributes }),
    );
    const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["QueueArn"] });
    const { Attributes } = await client.send(command);
    return { url, arn: Attributes?.QueueArn ?? "" };
  }

  return {
    ...clock,
    endpoint,

    async queues(maxReceiveCount = MAX_ATTEMPTS) {
      pairs += 1;
      const pair = `${process.pid}-${pairs}`;
      const dead = await queue(`lazaret-dead-${pair}`, {});
      const policy = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount });
      const jobs = await queue(`lazaret-jobs-${pair}`, { RedrivePolicy: policy });
      return { queueUrl: jobs.url, deadLetterQueueUrl: dead.url };
    },

    async send(QueueUrl, MessageBody) {
      await client.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    },

    async move(fromUrl, toUrl) {
      const receive = { QueueUrl: fromUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ["All"] };
      const { Messages = [] } = await client.send(new ReceiveMessageCommand(receive));
      for (const { Body, MessageAttributes, ReceiptHandle } of Messages) {
        await client.send(new SendMessageCommand({ QueueUrl: toUrl, MessageBody: Body, MessageAttributes }));
        await client.send(new DeleteMessageCommand({ QueueUrl: fromUrl, ReceiptHandle }));
      }
      return Messages.length;
    },

    async [Symbol.asyncDispose]() {
      client.destroy();
      await stop();
    },
  };
}
