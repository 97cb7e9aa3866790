import type { FittedAttributes, FittedMessage } from "@lazaret/contract";
import type { EventBus } from "../../../deliver/event-bus.ts";
import type { FindingsTopic, PublishedFinding } from "../../../deliver/findings-topic.ts";
import { emailSubject, emailText } from "../finding-text.ts";
import { matches } from "./filter-policy.ts";
import type { Outbox } from "./outbox.ts";
import type { Sender } from "./sender.ts";
import type { BusTarget, Receiver, Subscription } from "./subscriptions.ts";

export interface OutboxTopicOptions {
  outbox: Outbox;
  stackName: string;
  subscriptions: readonly Subscription[];
  /** Milliseconds since 1970. */
  now(): number;
}

/** A findings topic: what is published is written into the outbox, once for each subscription that wants it. */
export function outboxTopic({ outbox, stackName, subscriptions, now }: OutboxTopicOptions): FindingsTopic {
  const topicName = findingsTopicName(stackName);
  return {
    publish(finding) {
      const { id, attributes } = finding;
      const chosen = subscriptions.filter(({ filterPolicy }) => !filterPolicy || matches(filterPolicy, attributes));
      const at = { topicName, now: now() };
      return addFor(chosen, { outbox, id, bodyFor: (subscription) => storedFinding(finding, subscription, at) });
    },
  };
}

/** An event bus: what is published is written into the outbox, once for each target that wants it. */
export function outboxBus({ outbox, targets }: { outbox: Outbox; targets: readonly BusTarget[] }): EventBus {
  return {
    publish(event) {
      const wants = ({ detailTypes }: BusTarget): boolean => detailTypes?.includes(event["detail-type"]) ?? true;
      const body = JSON.stringify(event);
      return addFor(targets.filter(wants), { outbox, id: event.id, bodyFor: () => body });
    },
    close: async () => {},
  };
}

/** The topic's name begins with the name of the installation. */
export function findingsTopicName(stackName: string): string {
  return `${stackName}-findings`;
}

/** Asks the outbox before it returns, so that what is asked of the queue in the same turn shares its commit. */
function addFor<R extends Receiver>(
  receivers: readonly R[],
  { outbox, id, bodyFor }: { outbox: Outbox; id: string; bodyFor: (receiver: R) => string },
): Promise<void> {
  if (receivers.length === 0) return Promise.resolve();
  return outbox.add(receivers.map((receiver) => ({ id, receiver: receiver.id, body: bodyFor(receiver) })));
}

/** A finding as it waits in the outbox: what is sent, and the attributes that go with it. */
interface StoredFinding {
  content: unknown;
  attributes: FittedAttributes;
}

interface PublishedAt {
  topicName: string;
  /** Milliseconds since 1970. */
  now: number;
}

/** As JSON for the outbox, written for one subscription. */
function storedFinding(finding: PublishedFinding, { protocol, format }: Subscription, at: PublishedAt): string {
  const stored: StoredFinding = { content: contentFor(), attributes: finding.attributes };
  return JSON.stringify(stored);

  function contentFor(): unknown {
    // Emails are put into words when they are sent.
    const content = finding.body === "text" && protocol !== "email" ? emailText(finding.message) : finding.message;
    if (format === "envelope") return envelope(finding, content, at);
    // A line in a file has to say when it was; all others get a message when there is one.
    const isLine = protocol === "file" && typeof content !== "string";
    return isLine ? { ...content, time: new Date(at.now).toISOString() } : content;
  }
}

/** What SNS puts around a message for subscribers without raw delivery, as far as it is not about SNS itself. */
function envelope({ id, message, attributes }: PublishedFinding, content: unknown, at: PublishedAt): object {
  const typed = Object.entries(attributes).map(([name, value]) => [
    name,
    { Type: typeof value === "number" ? "Number" : "String", Value: String(value) },
  ]);
  return {
    Type: "Notification",
    MessageId: id,
    TopicArn: `arn:aws:sns:local:000000000000:${at.topicName}`,
    Subject: emailSubject(message),
    Message: typeof content === "string" ? content : JSON.stringify(content),
    Timestamp: new Date(at.now).toISOString(),
    MessageAttributes: Object.fromEntries(typed),
  };
}

/** The way back: gives a sender the content as the message, and the attributes with it. */
export function sendingFindings(sender: Sender): Sender {
  return {
    ...sender,
    send({ message, failures }, signal) {
      const stored = JSON.parse(message.body) as StoredFinding | FittedMessage | string;
      // Written by a version that kept the message alone: sent as that did.
      if (typeof stored === "string" || !("content" in stored)) return sender.send({ message, failures }, signal);
      const { content, attributes } = stored;
      return sender.send({ message: { ...message, body: JSON.stringify(content) }, failures, attributes }, signal);
    },
  };
}
