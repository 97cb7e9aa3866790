import { resolve } from "node:path";
import type { EventBus } from "../../../deliver/event-bus.ts";
import type { FindingsTopic } from "../../../deliver/findings-topic.ts";
import type { SignCallback } from "../../../deliver/signature.ts";
import type { Log } from "../../../log.ts";
import type { ConnectorFactory } from "../../../net/exchange.ts";
import { matches } from "./filter-policy.ts";
import type { MailSettings } from "./mail-settings.ts";
import type { Outbox, OutboxCounts } from "./outbox.ts";
import { emailSender } from "./senders/email-sender.ts";
import { fileSender } from "./senders/file-sender.ts";
import { httpsSender } from "./senders/https-sender.ts";
import type { Sender } from "./senders/sender.ts";
import { startSending } from "./sending.ts";
import { sendingFindings, storedFinding } from "./stored-finding.ts";
import type { BusTarget, Receiver, Subscription } from "./subscriptions.ts";

/**
 * The findings topic and the event bus of platforms that have none: what is published is written into the outbox once
 * for each receiver that wants it, and sent from there.
 */
export interface FanOut {
  topic: FindingsTopic;
  eventBus: EventBus;
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
  /** Milliseconds since 1970. */
  now?: () => number;
  /** Undefined publishes only: another process sends. */
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
  sign?: SignCallback;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** From 0 to 1. */
  random?: () => number;
}

/** The topic's name begins with the name of the installation. */
function findingsTopicName(stackName: string): string {
  return `${stackName}-findings`;
}

export function startFanOut(options: FanOutOptions): FanOut {
  const { outbox, stackName, subscriptions, targets, sending, now = Date.now } = options;
  const topicName = findingsTopicName(stackName);
  const receivers: readonly Receiver[] = [...subscriptions, ...targets];
  const loop =
    sending &&
    startSending({
      outbox,
      receivers,
      senderFor: (receiver) => {
        if (!subscriptions.includes(receiver)) return senderFor(receiver, sending);
        return sendingFindings(senderFor(receiver, { ...sending, topicName }));
      },
      log: sending.log,
      now: sending.now ?? Date.now,
      random: sending.random ?? Math.random,
    });

  /** Asked of the outbox before this returns, so that what is asked of the queue in the same turn shares its commit. */
  function post<R extends Receiver>(id: string, chosen: readonly R[], bodyFor: (receiver: R) => string): Promise<void> {
    if (chosen.length === 0) return Promise.resolve();
    return outbox.add(chosen.map((receiver) => ({ id, receiver: receiver.id, body: bodyFor(receiver) })));
  }

  return {
    topic: {
      publish(finding) {
        const { id, attributes } = finding;
        const chosen = subscriptions.filter(({ filterPolicy }) => !filterPolicy || matches(filterPolicy, attributes));
        const at = { topicName, now: now() };
        return post(id, chosen, (subscription) => storedFinding(finding, subscription, at));
      },
    },
    eventBus: {
      publish(event) {
        const wants = ({ detailTypes }: BusTarget): boolean => detailTypes?.includes(event["detail-type"]) ?? true;
        const body = JSON.stringify(event);
        return post(event.id, targets.filter(wants), () => body);
      },
      close: async () => {},
    },
    async counts() {
      const kept = new Map((await outbox.counts()).map((counts) => [counts.receiver, counts]));
      const configured = receivers.map((receiver) => {
        const { id, protocol, place } = receiver;
        const of = subscriptions.includes(receiver) ? ("topic" as const) : ("bus" as const);
        return { ...none(id), ...kept.get(id), configured: { of, protocol, endpoint: place } };
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
