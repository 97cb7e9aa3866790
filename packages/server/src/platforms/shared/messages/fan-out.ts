import { resolve } from "node:path";
import type { Log } from "../../../log.ts";
import type { ConnectorFactory } from "../../../net/exchange.ts";
import { emailSender } from "./email-sender.ts";
import { fileSender } from "./file-sender.ts";
import { httpsSender, type SignMessage } from "./https-sender.ts";
import type { Outbox, OutboxCounts } from "./outbox.ts";
import { findingsTopicName, sendingFindings } from "./publishing.ts";
import type { Sender } from "./sender.ts";
import { startSending } from "./sending.ts";
import type { BusTarget, MailSettings, Receiver, Subscription } from "./subscriptions.ts";

/**
 * From the outbox to the receivers, for platforms that have no topic and no bus of their own: `publishing.ts` writes into
 * the outbox what is published, and this sends it from there.
 */
export interface FanOut {
  /** Of all receivers that are configured, and of those that were and have messages left or behind them. */
  counts(): Promise<ReceiverCounts[]>;
  /** Takes no more messages, lets those under way finish for at most `graceMs`. Publishing goes on to work. */
  stop(graceMs: number): Promise<void>;
}

export interface ReceiverCounts extends OutboxCounts {
  /** Undefined when the receiver is not configured any more. */
  configured: { of: "topic" | "bus"; protocol: string; endpoint: string } | undefined;
}

export interface FanOutOptions {
  outbox: Outbox;
  stackName: string;
  subscriptions: readonly Subscription[];
  targets: readonly BusTarget[];
  /** Undefined sends nothing: another process does. */
  sending: SendingParts | undefined;
}

export interface SendingParts {
  /** Where relative paths of files start. */
  dataDir: string;
  connector: ConnectorFactory;
  version: string;
  log: Log;
  /** Undefined when there is no mail server: then there must be no email subscription. */
  mail?: MailSettings;
  /** POSTs are signed when it is given. */
  sign?: SignMessage;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** From 0 to 1. */
  random?: () => number;
}

export function startFanOut({ outbox, stackName, subscriptions, targets, sending }: FanOutOptions): FanOut {
  const receivers: readonly Receiver[] = [...subscriptions, ...targets];
  const loop =
    sending &&
    startSending({
      outbox,
      receivers,
      senderFor: (receiver) => {
        if (!subscriptions.includes(receiver)) return senderFor(receiver, sending);
        return sendingFindings(senderFor(receiver, { ...sending, topicName: findingsTopicName(stackName) }));
      },
      log: sending.log,
      now: sending.now ?? Date.now,
      random: sending.random ?? Math.random,
    });

  return {
    async counts() {
      const kept = new Map((await outbox.counts()).map((counts) => [counts.receiver, counts]));
      const configured = receivers.map((receiver) => {
        const { id, protocol, shownEndpoint } = receiver;
        const of = subscriptions.includes(receiver) ? ("topic" as const) : ("bus" as const);
        return { ...none(id), ...kept.get(id), configured: { of, protocol, endpoint: shownEndpoint } };
      });
      const others = [...kept.values()].filter(({ receiver }) => receivers.every(({ id }) => id !== receiver));
      return [...configured, ...others.map((counts) => ({ ...counts, configured: undefined }))];
    },
    async stop(graceMs) {
      await loop?.stop(graceMs);
    },
  };
}

function none(receiver: string): OutboxCounts {
  return { receiver, waiting: 0, waitingBytes: 0, oldestSeconds: 0, sent: 0, failedTries: 0, dropped: 0 };
}

function senderFor(receiver: Receiver, parts: SendingParts & { topicName?: string }): Sender {
  const { protocol, endpoint } = receiver;
  const { mail, now = Date.now } = parts;
  switch (protocol) {
    case "https":
    case "http":
      return httpsSender({ ...parts, endpoint, now });
    case "file":
      return fileSender(resolve(parts.dataDir, endpoint));
    case "email":
      if (!mail) throw new Error(`cannot send email to ${endpoint}: there is no mail server`);
      return emailSender({ ...mail, to: endpoint });
  }
}
