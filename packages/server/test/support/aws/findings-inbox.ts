import { CreateTopicCommand, SNSClient, SubscribeCommand } from "@aws-sdk/client-sns";
import { CreateQueueCommand, GetQueueAttributesCommand, ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";

/** A new topic, and a queue that is subscribed to it. */
export interface FindingsInbox extends Disposable {
  topicArn: string;
  /** What has come since the last time, ten at most. */
  receive(): Promise<{ text: string; email: string; attributes: Record<string, { Type: string; Value: string }> }[]>;
}

let inboxes = 0;

export async function findingsInbox(endpoint: string): Promise<FindingsInbox> {
  const region = "us-east-1";
  const sns = new SNSClient({ endpoint, region });
  const sqs = new SQSClient({ endpoint, region, useQueueUrlAsEndpoint: false });
  inboxes += 1;
  const name = `${process.pid}-${inboxes}`;
  const { TopicArn = "" } = await sns.send(new CreateTopicCommand({ Name: `lazaret-findings-${name}` }));
  const { QueueUrl: inbox = "" } = await sqs.send(new CreateQueueCommand({ QueueName: `inbox-${name}` }));
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: inbox, AttributeNames: ["QueueArn"] }),
  );
  await sns.send(new SubscribeCommand({ TopicArn, Protocol: "sqs", Endpoint: Attributes?.QueueArn ?? "" }));
  return {
    topicArn: TopicArn,
    async receive() {
      const command = new ReceiveMessageCommand({ QueueUrl: inbox, MaxNumberOfMessages: 10, WaitTimeSeconds: 0 });
      const { Messages = [] } = await sqs.send(command);
      return Messages.map(({ Body = "{}" }) => {
        const { Message, MessageAttributes: attributes = {} } = JSON.parse(Body);
        // SNS picks the text for the subscription's protocol; this stand-in passes them all on.
        const { default: text, email } = JSON.parse(Message);
        return { text, email, attributes };
      });
    },
    [Symbol.dispose]() {
      sns.destroy();
      sqs.destroy();
    },
  };
}
