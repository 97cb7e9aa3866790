import { Aws, type Stack } from "aws-cdk-lib";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { type CfnManagedPolicy, ManagedPolicy, Role } from "aws-cdk-lib/aws-iam";
import type { Switch } from "../parts/parameters.ts";
import {
  allow,
  KEEP_SECRET,
  mayDo,
  publicKeyArns,
  sealingSecretArn,
  signingSecretArn,
  tasksOfThisAccount,
  when,
} from "../parts/permissions.ts";
import type { Queues } from "./queues.ts";

export interface WorkerRoleOptions {
  queues: Queues;
  table: Table;
  objectScans: CfnManagedPolicy;
  sign: Switch;
}

const WORK_OFF = [
  "sqs:ReceiveMessage",
  "sqs:DeleteMessage",
  "sqs:ChangeMessageVisibility",
  "sqs:SendMessage",
  "sqs:GetQueueAttributes",
];
/** Items of the table one by one; no scan over all of it, and nothing about the table itself. */
const TABLE_ACTIONS = [
  "dynamodb:GetItem",
  "dynamodb:PutItem",
  "dynamodb:UpdateItem",
  "dynamodb:DeleteItem",
  "dynamodb:Query",
];

/** What a worker may do: work off the queue, keep jobs and results, sign callbacks, and scan objects. */
export function workerRole(stack: Stack, { queues, table, objectScans, sign }: WorkerRoleOptions): Role {
  const role = new Role(stack, "WorkerRole", {
    assumedBy: tasksOfThisAccount(),
    managedPolicies: [ManagedPolicy.fromManagedPolicyArn(stack, "ObjectScansOfWorkers", objectScans.ref)],
  });
  mayDo(role, [
    allow("WorkOffJobs", WORK_OFF, [queues.jobs.queueArn]),
    allow("Bury", ["sqs:SendMessage", "sqs:GetQueueAttributes"], [queues.deadLetters.queueArn]),
    allow("KeepResults", TABLE_ACTIONS, [table.tableArn]),
    allow("SealJobs", KEEP_SECRET, [sealingSecretArn(Aws.STACK_NAME)]),
    when(sign.on, allow("KeepSigningKey", KEEP_SECRET, [signingSecretArn(Aws.STACK_NAME)])),
    when(sign.on, allow("PublishKeys", ["ssm:GetParameter", "ssm:PutParameter"], publicKeyArns(Aws.STACK_NAME))),
  ]);
  return role;
}
