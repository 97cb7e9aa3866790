import { Aws, type CfnParameter, Duration, Fn, type Stack } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, type CfnFunction, Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import type { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { HANDLER } from "../bundle-function.ts";
import type { AddOnParameters } from "../parts/add-on-parameters.ts";
import { explained } from "../parts/explained.ts";
import { keptLogs } from "../parts/kept-logs.ts";
import { type Switch, valuesOf } from "../parts/parameters.ts";
import { allow, KEEP_SECRET, mayDo, publicKeyArns, sealingSecretArn, when } from "../parts/permissions.ts";
import type { FunctionNetwork } from "./function-network.ts";

export interface ApiFunctionOptions {
  addOn: AddOnParameters;
  sign: Switch;
  network: FunctionNetwork;
  /** Private networks that callbacks may reach. */
  networks: CfnParameter;
  keys: Secret;
  code: string;
}

/**
 * A job is put in, and taken back if the queue will not have it; results, usage, keys and failed callbacks are looked up; when a key was
 * used, and what limits count, is written.
 */
const TABLE_ACTIONS = [
  "dynamodb:GetItem",
  "dynamodb:PutItem",
  "dynamodb:UpdateItem",
  "dynamodb:DeleteItem",
  "dynamodb:Query",
];
/** What Lambda does with network interfaces of functions inside a network. They have no names before they are made. */
const NETWORK_INTERFACES = [
  "ec2:CreateNetworkInterface",
  "ec2:DescribeNetworkInterfaces",
  "ec2:DescribeSubnets",
  "ec2:DeleteNetworkInterface",
  "ec2:AssignPrivateIpAddresses",
  "ec2:UnassignPrivateIpAddresses",
];

/** Takes jobs in and answers polls. It never sees a file, so it may touch none. */
export function apiFunction(stack: Stack, options: ApiFunctionOptions): LambdaFunction {
  const { addOn, sign, network, networks, keys, code } = options;
  const { told } = addOn;
  const logGroup = keptLogs(stack, "FunctionLogs");
  const role = new Role(stack, "FunctionRole", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
  mayDo(role, [
    allow("Log", ["logs:CreateLogStream", "logs:PutLogEvents"], [logGroup.logGroupArn]),
    allow("AddJobs", ["sqs:SendMessage"], [told("QueueArn")]),
    allow("FindResults", TABLE_ACTIONS, [told("TableArn")]),
    allow("ReadApiKeys", ["secretsmanager:GetSecretValue"], [keys.secretArn]),
    allow("SealJobs", KEEP_SECRET, [sealingSecretArn(addOn.scannerStackName.valueAsString)]),
    when(sign.on, allow("ReadPublicKeys", ["ssm:GetParameter"], publicKeyArns(addOn.scannerStackName.valueAsString))),
    when(network.inside, allow("JoinNetwork", NETWORK_INTERFACES, ["*"])),
  ]);

  const made = new LambdaFunction(stack, "Function", {
    description: "The asynchronous API of Lazaret",
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    handler: HANDLER,
    code: Code.fromAsset(code),
    role,
    logGroup,
    memorySize: 1024,
    // What the HTTP API waits at most, less a second to say so.
    timeout: Duration.seconds(29),
    environment: {
      LAZARET_PLATFORM: "aws",
      LAZARET_ROLE: "api",
      LAZARET_SCANNER_STACK_NAME: addOn.scannerStackName.valueAsString,
      LAZARET_ENGINE: told("Engine"),
      LAZARET_AWS_QUEUE_URL: told("QueueUrl"),
      LAZARET_AWS_DEAD_LETTERS_URL: told("DeadLettersUrl"),
      LAZARET_AWS_TABLE: told("TableName"),
      LAZARET_AWS_TOPIC_ARN: told("FindingsTopicArn"),
      LAZARET_AWS_EVENT_BUS: told("EventBusName"),
      LAZARET_AWS_API_KEYS_SECRET: keys.secretArn,
      LAZARET_REPORT_EVENT_BUS: addOn.agreed(addOn.reportEventBus, "ReportsEvents"),
      LAZARET_SIGN_CALLBACK_INVOCATIONS: addOn.agreed(sign, "SignsCallbacks"),
      LAZARET_DOWNLOADS: addOn.agreed(addOn.downloads, "DoesDownloads"),
      LAZARET_ALLOW_CALLBACK_NETWORKS: networks.valueAsString,
    },
  });
  const place = { SubnetIds: valuesOf(network.subnets), SecurityGroupIds: [network.guard.attrGroupId] };
  (made.node.defaultChild as CfnFunction).addPropertyOverride(
    "VpcConfig",
    Fn.conditionIf(network.inside.logicalId, place, Aws.NO_VALUE),
  );
  explained(made, {
    "CloudFormation-Validate::F3031":
      "FunctionSubnets is empty only together with FunctionVpc, and then there is no VpcConfig",
  });
  return made;
}
