import { messageId } from "../../deliver/event-bus.ts";
import type { Platform } from "../platform.ts";
import type { AwsOptions } from "./clients.ts";
import { eventBridge } from "./event-bus.ts";
import { snsTopic } from "./findings-topic.ts";
import { openJobStore } from "./job-store.ts";
import type { RawChecks } from "./raw-messages.ts";
import { sealingKey } from "./sealing-key.ts";
import { secretKeys } from "./signing-keys.ts";

export interface AwsPlatformOptions extends AwsOptions {
  stackName: string;
  queueUrl: string;
  deadLettersUrl: string;
  tableName: string;
  topicArn: string;
  busName: string;
  signingSecret: string;
  /** Of the key that seals what clients sent. */
  sealingSecret: string;
  /** What messages of other producers on the queue have to pass. */
  checks: RawChecks;
  now: () => number;
}

/** Everything in the services of one AWS account and region. Any number of processes may be at it. */
export async function awsPlatform(options: AwsPlatformOptions): Promise<Platform> {
  const { endpoint, region, queueUrl, deadLettersUrl, tableName, checks, now } = options;
  const services = { ...(endpoint !== undefined && { endpoint }), ...(region !== undefined && { region }) };
  const sealing = sealingKey({ ...services, secretName: options.sealingSecret });
  const store = openJobStore({
    sealer: sealing.sealer,
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoints: { sqs: endpoint, dynamodb: endpoint } }),
    queueUrl,
    deadLetterQueueUrl: deadLettersUrl,
    tableName,
    checks,
    now,
  });
  const topic = snsTopic({ ...services, topicArn: options.topicArn });
  const eventBus = eventBridge({ ...services, busName: options.busName });
  const signingKeys = secretKeys({ ...services, secretName: options.signingSecret, stackName: options.stackName });
  const [, , , regionOfTopic = "", account = ""] = options.topicArn.split(":");
  return {
    ...store,
    signingKeys,
    topic,
    eventBus,
    tenantId: messageId(queueUrl, "tenant"),
    account,
    region: regionOfTopic,
    async close() {
      await store.close();
      await eventBus.close();
      topic.close();
      signingKeys.close();
      sealing.close();
    },
  };
}
