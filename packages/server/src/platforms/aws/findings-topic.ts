import { type MessageAttributeValue, PublishCommand, SNSClient } from "@aws-sdk/client-sns";
import type { FindingsTopic, PublishedFinding } from "../../deliver/findings-topic.ts";
import { QueueUnavailable } from "../../model/faults.ts";
import { emailSubject, emailText } from "../shared/finding-text.ts";
import { awsFailure } from "./aws-unavailable.ts";
import { type AwsOptions, accountConfig } from "./clients.ts";

export interface SnsTopic extends FindingsTopic {
  close(): void;
}

/** The findings topic on SNS. Email subscribers get words, all others the JSON. */
export function snsTopic(options: AwsOptions & { topicArn: string }): SnsTopic {
  const client = new SNSClient(accountConfig(options));
  return {
    async publish({ message, attributes, body }) {
      const text = body === "json" ? JSON.stringify(message) : emailText(message);
      const command = new PublishCommand({
        TopicArn: options.topicArn,
        Subject: subjectOf(message),
        MessageStructure: "json",
        Message: JSON.stringify({ default: text, email: emailText(message) }),
        MessageAttributes: snsAttributes(attributes),
      });
      await client.send(command).catch((error) => {
        throw new QueueUnavailable(awsFailure("publish to the findings topic", error).message);
      });
    },
    close: () => client.destroy(),
  };
}

/** SNS wants printable ASCII, and not more than 100 of it. */
function subjectOf(message: PublishedFinding["message"]): string {
  return emailSubject(message)
    .replace(/[^\x20-\x7e]/g, "?")
    .slice(0, 100);
}

/**
 * SNS refuses an attribute without a value, and characters that XML cannot carry: these become `#`, as surrogates do.
 * @internal tested by table
 */
export function snsAttributes(attributes: PublishedFinding["attributes"]): Record<string, MessageAttributeValue> {
  return Object.fromEntries(
    Object.entries(attributes)
      .filter(([, value]) => value !== "")
      .map(([name, value]) => [
        name,
        typeof value === "number"
          ? { DataType: "Number", StringValue: String(value) }
          : { DataType: "String", StringValue: value.replace(/[\p{Cc}\ufffe\uffff]/gu, "#") },
      ]),
  );
}
