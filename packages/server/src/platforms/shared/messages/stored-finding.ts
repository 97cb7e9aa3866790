import type { FittedAttributes, FittedMessage } from "@lazaret/contract";
import { emailSubject, emailText, type PublishedFinding } from "../../../deliver/findings-topic.ts";
import type { Sender } from "./senders/sender.ts";
import type { Subscription } from "./subscriptions.ts";

/** A finding as it waits in the outbox: what is sent, and the attributes that go with it. */
interface StoredFinding {
  content: unknown;
  attributes: FittedAttributes;
}

export interface FindingPlace {
  topicName: string;
  /** Milliseconds since 1970. */
  now: number;
}

/** As JSON for the outbox, written for one subscription. */
export function storedFinding(finding: PublishedFinding, { protocol, format }: Subscription, at: FindingPlace): string {
  const stored: StoredFinding = { content: contentFor(), attributes: finding.attributes };
  return JSON.stringify(stored);

  function contentFor(): unknown {
    // Emails are put into words when they are sent.
    const content = finding.body === "text" && protocol !== "email" ? emailText(finding.message) : finding.message;
    if (format === "envelope") return envelope(finding, content, at);
    // Whoever reads a file later has nothing else to tell when it was; all others get a message when there is one.
    const isLine = protocol === "file" && typeof content !== "string";
    return isLine ? { ...content, time: new Date(at.now).toISOString() } : content;
  }
}

/** Hands a sender the content as the message, and the attributes beside it. */
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

/** What SNS puts around a message for subscribers without raw delivery, as far as it is not about SNS itself. */
function envelope({ id, message, attributes }: PublishedFinding, content: unknown, at: FindingPlace): object {
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

/**
 * Attributes as headers: `trace_id` is X-Attribute-Trace-Id, because proxies drop names with underscores. Values are
 * percent-encoded wherever they are not visible ASCII: header values can hold nothing else safely.
 */
export function attributeHeaders(attributes: FittedAttributes): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      `X-Attribute-${name.replace(/(^|_)(\w)/g, (_, gap, letter) => `${gap && "-"}${letter.toUpperCase()}`)}`,
      String(value).replace(/[^\x21-\x24\x26-\x7e]/g, encodeURIComponent),
    ]),
  );
}
