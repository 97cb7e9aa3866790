import type { Settings } from "../../../src/settings.ts";
import { type TestService, testService } from "../service.ts";
import { type AwsStandIn, awsStandIn } from "./aws-stand-in.ts";
import { findingsInbox } from "./findings-inbox.ts";

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
  const [queues, table, inbox] = await Promise.all([aws.sqs.queues(), aws.dynamodb.table(), findingsInbox(endpoint)]);

  const settings: Partial<Settings> = {
    platform: "aws",
    awsEndpoint: endpoint,
    awsQueueUrl: queues.queueUrl,
    awsDeadLettersUrl: queues.deadLetterQueueUrl,
    awsTable: table,
    awsTopicArn: inbox.topicArn,
    awsEventBus: "lazaret",
    engine: "P",
    clamd: "none",
    allowHttpCallbacks: true,
  };
  return {
    aws,
    settings,
    async findings() {
      return (await inbox.receive()).map(({ text, ...rest }) => ({ message: JSON.parse(text), ...rest }));
    },
    service: (more = {}) => testService({ ...settings, ...more }, { keysMs: 50 }, { now: aws.sqs.now }),
    async [Symbol.asyncDispose]() {
      inbox[Symbol.dispose]();
      await aws[Symbol.asyncDispose]();
    },
  };
}
