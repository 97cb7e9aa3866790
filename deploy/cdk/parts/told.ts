import { Aws, type CfnCondition, CfnOutput, type CfnParameter, Fn, type Stack } from "aws-cdk-lib";

/**
 * What a scanner stack tells its add-ons, as CloudFormation exports named `<stack>-<name>`. The last ones are there
 * only while they are so: an add-on that asks for more than its scanner gives is refused by CloudFormation with
 * "No export named <stack>-SignsCallbacks found".
 */
const descriptions = {
  QueueUrl: "Where jobs wait",
  QueueArn: "The same, for policies and for the notifications of buckets",
  DeadLettersUrl: "Where jobs end that could not be done",
  DeadLettersArn: "The same, for policies",
  TableName: "Where results are kept",
  TableArn: "The same, for policies",
  FindingsTopicArn: "Tells of each scanned object; subscribe to it",
  EventBusName: "Where events go, with ReportEventBus",
  AlarmTopicArn: "Tells of alarms; subscribe to it",
  ObjectScansPolicyArn: "All that may be done to objects and told of them",
  Engine: "P or Q",
  DeleteInfectedFiles: "As set for the scanner",
  TagFiles: "As set for the scanner",
  TagKey: "As set for the scanner",
  ReportCleanFiles: "As set for the scanner",
  ImageRepository: "Repository of the container images",
  ImageTag: "Their tag",
  VpcId: "The network of the workers",
  VpcCidr: "Its addresses",
  WorkerSubnets: "Two subnets that nobody reaches from outside",
  PublicSubnets: "Two subnets for what clients reach; only there while the network has a way out",
  SignatureMirror: "Where freshclam gets signatures; only there while the network has no way out",
  DoesDownloads: "Only there while the network has a way out",
  SignsCallbacks: "Only there while callbacks are signed",
  ReportsEvents: "Only there while results are emitted as events",
} as const;

export type Told = keyof typeof descriptions;

export function tell(stack: Stack, name: Told, value: string, condition?: CfnCondition): void {
  new CfnOutput(stack, `Tells${name}`, {
    value,
    description: descriptions[name],
    exportName: `${Aws.STACK_NAME}-${name}`,
    ...(condition && { condition }),
  });
}

/** Asks the scanner stack that the add-on's parameter names. */
export function askScanner(scannerStackName: CfnParameter): (name: Told) => string {
  return (name) => Fn.importValue(Fn.sub(`\${${scannerStackName.logicalId}}-${name}`));
}
