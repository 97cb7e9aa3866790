import { Aws, type Stack } from "aws-cdk-lib";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { SecurityGroup } from "aws-cdk-lib/aws-ec2";
import { Cluster, Compatibility, ContainerInsights, FargateService } from "aws-cdk-lib/aws-ecs";
import type { Role } from "aws-cdk-lib/aws-iam";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import { signingSecret } from "../parts/permissions.ts";
import { scanningTask } from "../parts/scanning-task.ts";
import type { Announcements } from "./announcements.ts";
import type { Network } from "./network.ts";
import type { Queues } from "./queues.ts";
import type { ScannerParameters } from "./scanner-parameters.ts";

export interface WorkerFleetOptions {
  parameters: ScannerParameters;
  network: Network;
  queues: Queues;
  table: Table;
  announcements: Announcements;
  signatureMirror: string;
  role: Role;
}

export interface WorkerFleet {
  cluster: Cluster;
  service: FargateService;
  /** The workers' own lines, as JSON. */
  logs: LogGroup;
}

/** Jobs are up to 2,000 MiB, 16 at once, and unpacked as much again. */
const STORAGE_GIB = 100;

export function workerFleet(stack: Stack, options: WorkerFleetOptions): WorkerFleet {
  const { parameters, network, queues, table, announcements, role } = options;
  const cluster = new Cluster(stack, "Cluster", {
    vpc: network.vpc,
    containerInsightsV2: ContainerInsights.ENABLED,
  });
  const { definition, logs } = scanningTask(stack, {
    compatibility: Compatibility.FARGATE,
    taskRole: role,
    imageRepository: parameters.imageRepository.valueAsString,
    imageTag: parameters.imageTag.valueAsString,
    signatureMirror: options.signatureMirror,
    storageGiB: STORAGE_GIB,
    environment: {
      LAZARET_ROLE: "worker",
      LAZARET_SCANNER_STACK_NAME: Aws.STACK_NAME,
      LAZARET_AWS_QUEUE_URL: queues.jobs.queueUrl,
      LAZARET_AWS_DEAD_LETTERS_URL: queues.deadLetters.queueUrl,
      LAZARET_AWS_TABLE: table.tableName,
      LAZARET_AWS_TOPIC_ARN: announcements.findings.topicArn,
      LAZARET_AWS_EVENT_BUS: announcements.events.eventBusName,
      LAZARET_AWS_SIGNING_SECRET: signingSecret(Aws.STACK_NAME),
      LAZARET_REPORT_EVENT_BUS: parameters.reportEventBus.parameter.valueAsString,
      LAZARET_SIGN_CALLBACK_INVOCATIONS: parameters.signCallbackInvocations.parameter.valueAsString,
      LAZARET_DOWNLOADS: parameters.downloads.parameter.valueAsString,
      LAZARET_ALLOW_CALLBACK_NETWORKS: parameters.callbackNetworks.valueAsString,
      LAZARET_ENGINE: parameters.engine.valueAsString,
      LAZARET_DELETE_INFECTED_FILES: parameters.deleteInfectedFiles.parameter.valueAsString,
      LAZARET_TAG_FILES: parameters.tagFiles.parameter.valueAsString,
      LAZARET_TAG_KEY: parameters.tagKey.valueAsString,
      LAZARET_REPORT_CLEAN_FILES: parameters.reportCleanFiles.parameter.valueAsString,
    },
  });
  const service = new FargateService(stack, "Workers", {
    cluster,
    taskDefinition: definition,
    vpcSubnets: { subnets: network.vpc.privateSubnets },
    securityGroups: [
      new SecurityGroup(stack, "WorkersGuard", {
        vpc: network.vpc,
        description: "Nobody reaches a worker; workers reach what is downloaded and called back",
      }),
    ],
    assignPublicIp: false,
    circuitBreaker: { rollback: true },
    minHealthyPercent: 100,
    maxHealthyPercent: 200,
  });
  // Without its ways out a task can fetch neither its image nor its settings, and is given up.
  service.node.addDependency(network.ready);
  return { cluster, service, logs };
}
