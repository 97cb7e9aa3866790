import { CreateTopicCommand, SNSClient, SubscribeCommand } from "@aws-sdk/client-sns";
import { CreateQueueCommand, GetQueueAttributesCommand, ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { Settings } from "../../../src/settings.ts";
import { type TestService, testService } from "../service.ts";
import { type AwsStandIn, awsStandIn } from "./aws-stand-in.ts";

/** An installation on AWS: everything its stack would have made, behind one address. */
export interface AwsInstallation extends AsyncDisposable {
  aws: AwsStandIn;
  /** What the environment of its containers and functions says. */
  settings: Partial<Settings>;
  /** What a queue that is subscribed to the findings topic has got since the last time. */
  findings(): Promise<{ message: Record<string, unknown>; email: string; attributes: Record<string, unknown> }[]>;
  service(more?: Partial<Settings>): Promise<TestService>;
}

export async function awsInstallation(): Promise<AwsInstallation> {
  const aws = await awsStandIn();
  const { endpoint } = aws;
  const region = "us-east-1";
  process.env.AWS_REGION = region;
  const sns = new SNSClient({ endpoint, region });
  const sqs = new SQSClient({ endpoint, region, useQueueUrlAsEndpoint: false });
  const [queues, table] = await Promise.all([aws.sqs.queues(), aws.dynamodb.table()]);
  const { TopicArn = "" } = await sns.send(new CreateTopicCommand({ Name: "lazaret-findings" }));
  const { QueueUrl: inbox = "" } = await sqs.send(new CreateQueueCommand({ QueueName: `inbox-${Date.now()}` }));
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: inbox, AttributeNames: ["QueueArn"] }),
  );
  await sns.send(new SubscribeCommand({ TopicArn, Protocol: "sqs", Endpoint: Attributes?.QueueArn ?? "" }));

  const settings: Partial<Settings> = {
    platform: "aws",
    awsEndpoint: endpoint,
    awsQueueUrl: queues.queueUrl,
    awsDeadLettersUrl: queues.deadLetterQueueUrl,
    awsTable: table,
    awsTopicArn: TopicArn,
    awsEventBus: "lazaret",
    engine: "P",
    clamd: "none",
    allowHttpCallbacks: true,
  };
  return {
    aws,
    settings,
    async findings() {
      const command = new ReceiveMessageCommand({ QueueUrl: inbox, MaxNumberOfMessages: 10, WaitTimeSeconds: 0 });
      const { Messages = [] } = await sqs.send(command);
      return Messages.map(({ Body = "{}" }) => {
        const { Message, MessageAttributes = {} } = JSON.parse(Body);
        // SNS picks the text for the subscription's protocol; this stand-in passes them all on.
        const { default: text, email } = JSON.parse(Message);
        return { message: JSON.parse(text), email, attributes: MessageAttributes };
      });
    },
    service: (more = {}) => testService({ ...settings, ...more }, { keysMs: 50 }, { now: aws.sqs.now }),
    async [Symbol.asyncDispose]() {
      sns.destroy();
      sqs.destroy();
      await aws[Symbol.asyncDispose]();
    },
  };
}
