import { Aws, type Stack } from "aws-cdk-lib";
import { EventBus } from "aws-cdk-lib/aws-events";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { CfnSubscription, Topic } from "aws-cdk-lib/aws-sns";
import { isGiven } from "../parts/parameters.ts";
import { tell } from "../parts/told.ts";
import type { ScannerParameters } from "./scanner-parameters.ts";

export interface Announcements {
  findings: Topic;
  alarms: Topic;
  events: EventBus;
  /** Of both topics. */
  key: Key;
}

/** Where results and alarms are told. */
export function announcements(stack: Stack, parameters: ScannerParameters): Announcements {
  // A key of our own, because CloudWatch may not use the one that AWS has for SNS.
  const key = new Key(stack, "TopicKey", {
    description: "Messages of the findings and alarm topics",
    enableKeyRotation: true,
  });
  const cloudWatch = new ServicePrincipal("cloudwatch.amazonaws.com");
  key.grant(cloudWatch, "kms:Decrypt", "kms:GenerateDataKey");
  const topic = (id: string, name: string): Topic =>
    new Topic(stack, id, { topicName: `${Aws.STACK_NAME}-${name}`, masterKey: key, enforceSSL: true });
  const findings = topic("Findings", "findings");
  const alarms = topic("Alarms", "alarms");
  alarms.addToResourcePolicy(
    new PolicyStatement({
      sid: "FromAlarms",
      principals: [cloudWatch],
      actions: ["sns:Publish"],
      resources: [alarms.topicArn],
      conditions: { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } },
    }),
  );
  const events = new EventBus(stack, "Events", { eventBusName: `${Aws.STACK_NAME}-events` });

  const email = new CfnSubscription(stack, "AlarmMail", {
    topicArn: alarms.topicArn,
    protocol: "email",
    endpoint: parameters.alarmEmail.valueAsString,
  });
  email.cfnOptions.condition = isGiven(stack, parameters.alarmEmail);

  tell(stack, "FindingsTopicArn", findings.topicArn);
  tell(stack, "AlarmTopicArn", alarms.topicArn);
  tell(stack, "EventBusName", events.eventBusName);
  tell(stack, "ReportsEvents", "true", parameters.reportEventBus.on);
  return { findings, alarms, events, key };
}
