import {
  type BatchResultErrorEntry,
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { AwsUnavailable, awsUnavailable, entryUnavailable } from "./aws-unavailable.ts";
import { batched, type EntryOutcome } from "./batching.ts";

/** One queue of SQS. All of it throws `QueueUnavailable`. What is asked at the same time travels together. */
export interface MessageQueue {
  /** Resolves when the queue has confirmed this very message. */
  send(message: OutgoingMessage): Promise<void>;
  /** At most `limit` messages, up to 10; nobody else sees them for `hiddenSeconds`. Waits for the first that long, if asked to. */
  receive(options: ReceiveOptions): Promise<ReceivedMessage[]>;
  /** May be done again, and of a message that is somebody else's by now: then it does nothing. */
  remove(receipt: string): Promise<void>;
  /** Hides it for so long from now. False when it is not hidden any more, or somebody else's. */
  hide(receipt: string, seconds: number): Promise<boolean>;
  /** About how many messages there are. */
  depth(): Promise<QueueDepth>;
}

interface OutgoingMessage {
  body: string;
  delaySeconds?: number;
  /** Messages of one group are one tenant's to SQS: see docs/decisions/0027-tenants.md. */
  group?: string;
  /** What was written on it when it was buried. */
  mark?: string;
}

interface ReceiveOptions {
  limit: number;
  hiddenSeconds: number;
  waitSeconds?: number;
}

export interface ReceivedMessage {
  messageId: string;
  body: string;
  receipt: string;
  /** How often it was received, this time included. */
  receives: number;
  /** Milliseconds since 1970. */
  sentAt: number;
  mark?: string;
}

interface QueueDepth {
  visible: number;
  hidden: number;
  delayed: number;
}

/** SQS's own limit of one request, and of one message with its attributes. More is possible today, but not everywhere. */
export const MAX_MESSAGE_BYTES: number = 256 * 1024;
export const MAX_DELAY_SECONDS = 900;
export const LARGEST_BATCH = 10;

const MARK = "buried";

export function messageQueue(client: SQSClient, url: string, name: string): MessageQueue {
  const send = batched<OutgoingMessage, void>({
    largest: LARGEST_BATCH,
    weight: ({ body, mark = "" }) => Buffer.byteLength(body) + Buffer.byteLength(mark) + 32,
    heaviest: MAX_MESSAGE_BYTES,
    run: (messages) =>
      batch(`send to the ${name}`, messages, (entries) =>
        client.send(
          new SendMessageBatchCommand({
            QueueUrl: url,
            Entries: entries.map(({ Id, entry: { body, delaySeconds, group, mark } }) => ({
              Id,
              MessageBody: body,
              ...(delaySeconds !== undefined && { DelaySeconds: delaySeconds }),
              ...(group !== undefined && { MessageGroupId: group }),
              ...(mark !== undefined && {
                MessageAttributes: { [MARK]: { DataType: "String", StringValue: mark } },
              }),
            })),
          }),
        ),
      ),
  });

  const remove = batched<string, void>({
    largest: LARGEST_BATCH,
    run: (receipts) =>
      batch(`delete from the ${name}`, receipts, (entries) =>
        client.send(
          new DeleteMessageBatchCommand({
            QueueUrl: url,
            Entries: entries.map(({ Id, entry }) => ({ Id, ReceiptHandle: entry })),
          }),
        ),
      ),
  });

  const hide = batched<{ receipt: string; seconds: number }, boolean>({
    largest: LARGEST_BATCH,
    async run(hidings) {
      const outcomes = await batch(`hide in the ${name}`, hidings, (entries) =>
        client.send(
          new ChangeMessageVisibilityBatchCommand({
            QueueUrl: url,
            Entries: entries.map(({ Id, entry: { receipt, seconds } }) => ({
              Id,
              ReceiptHandle: receipt,
              VisibilityTimeout: seconds,
            })),
          }),
        ),
      );
      return outcomes.map((outcome) => {
        if (outcome.kind === "done") return { kind: "done", value: true };
        const lost = outcome.error instanceof AwsUnavailable && notOurs.has(outcome.error.code);
        return lost ? { kind: "done", value: false } : outcome;
      });
    },
  });

  return {
    send,
    remove,
    hide: (receipt, seconds) => hide({ receipt, seconds }),

    async receive({ limit, hiddenSeconds, waitSeconds = 0 }) {
      const command = new ReceiveMessageCommand({
        QueueUrl: url,
        MaxNumberOfMessages: Math.min(limit, LARGEST_BATCH),
        VisibilityTimeout: hiddenSeconds,
        WaitTimeSeconds: waitSeconds,
        MessageSystemAttributeNames: ["ApproximateReceiveCount", "SentTimestamp"],
        MessageAttributeNames: [MARK],
      });
      const { Messages = [] } = await client.send(command).catch(throwFor(`receive from the ${name}`));
      return Messages.map(received);
    },

    async depth() {
      const command = new GetQueueAttributesCommand({
        QueueUrl: url,
        AttributeNames: [
          "ApproximateNumberOfMessages",
          "ApproximateNumberOfMessagesNotVisible",
          "ApproximateNumberOfMessagesDelayed",
        ],
      });
      const { Attributes = {} } = await client.send(command).catch(throwFor(`count the messages of the ${name}`));
      return {
        visible: Number(Attributes.ApproximateNumberOfMessages ?? 0),
        hidden: Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
        delayed: Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0),
      };
    },
  };
}

interface BatchAnswer {
  Successful?: { Id?: string | undefined }[] | undefined;
  Failed?: BatchResultErrorEntry[] | undefined;
}

/** The message is visible again, gone, in other hands, or has been hidden for as long as SQS allows at all. */
const notOurs: ReadonlySet<string> = new Set(["ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"]);

/** An entry that the answer does not name as done has failed. */
async function batch<Entry>(
  attempt: string,
  entries: readonly Entry[],
  ask: (entries: readonly { Id: string; entry: Entry }[]) => Promise<BatchAnswer>,
): Promise<EntryOutcome<void>[]> {
  const named = entries.map((entry, index) => ({ Id: String(index), entry }));
  const { Successful = [], Failed = [] } = await ask(named).catch(throwFor(attempt));
  const done = new Set(Successful.map(({ Id }) => Id));
  return named.map(({ Id }) => {
    if (done.has(Id)) return { kind: "done", value: undefined };
    const code = shortCode(Failed.find((each) => each.Id === Id)?.Code);
    return { kind: "failed", error: entryUnavailable(attempt, code) };
  });
}

/** The older protocol has longer names, as in AWS.SimpleQueueService.MessageNotInflight. */
function shortCode(code: string | undefined): string | undefined {
  return code?.replace(/^AWS\.SimpleQueueService\./, "");
}

function received({ MessageId, Body, ReceiptHandle, Attributes, MessageAttributes }: Message): ReceivedMessage {
  const mark = MessageAttributes?.[MARK]?.StringValue;
  return {
    messageId: MessageId ?? "",
    body: Body ?? "",
    receipt: ReceiptHandle ?? "",
    receives: Number(Attributes?.ApproximateReceiveCount ?? 1),
    sentAt: Number(Attributes?.SentTimestamp ?? 0),
    ...(mark !== undefined && { mark }),
  };
}

function throwFor(attempt: string): (error: unknown) => never {
  return (error) => {
    throw awsUnavailable(error, attempt);
  };
}
