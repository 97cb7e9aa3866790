import { Aws, Duration, Fn, type Stack } from "aws-cdk-lib";
import { type IVpc, Port, SecurityGroup } from "aws-cdk-lib/aws-ec2";
import { type CfnService, Cluster, Compatibility, ContainerInsights, FargateService } from "aws-cdk-lib/aws-ecs";
import { ManagedPolicy, Role } from "aws-cdk-lib/aws-iam";
import type { Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { AddOnParameters } from "../parts/add-on-parameters.ts";
import { allow, allowPartitions, mayDo, tasksOfThisAccount } from "../parts/permissions.ts";
import { PORT, scanningTask } from "../parts/scanning-task.ts";
import { capacity } from "./capacity.ts";
import type { LoadBalancer } from "./load-balancer.ts";

export interface SyncFleetOptions {
  vpc: IVpc;
  keys: Secret;
  front: LoadBalancer;
}

/** One in each zone at least. */
const MIN_TASKS = 2;
const MAX_TASKS = 20;
/** Scanning is work for the CPU; above it requests begin to wait. */
const CPU_PERCENT = 60;

/** The tasks that scan while the client waits. */
export function syncFleet(stack: Stack, addOn: AddOnParameters, { vpc, keys, front }: SyncFleetOptions): void {
  const { told } = addOn;
  const cluster = new Cluster(stack, "Cluster", { vpc, containerInsightsV2: ContainerInsights.ENABLED });
  const { onInstances, provider, joined } = capacity(stack, { addOn, cluster, min: MIN_TASKS, max: MAX_TASKS });
  const { definition } = scanningTask(stack, {
    compatibility: Compatibility.EC2_AND_FARGATE,
    taskRole: fleetRole(stack, addOn, keys),
    imageRepository: told("ImageRepository"),
    imageTag: told("ImageTag"),
    signatureMirror: Fn.conditionIf(addOn.downloads.on.logicalId, "-", told("SignatureMirror")).toString(),
    environment: {
      LAZARET_ROLE: "api",
      LAZARET_SCANNER_STACK_NAME: addOn.scannerStackName.valueAsString,
      LAZARET_AWS_QUEUE_URL: told("QueueUrl"),
      LAZARET_AWS_DEAD_LETTERS_URL: told("DeadLettersUrl"),
      LAZARET_AWS_TABLE: told("TableName"),
      LAZARET_AWS_TOPIC_ARN: told("FindingsTopicArn"),
      LAZARET_AWS_EVENT_BUS: told("EventBusName"),
      LAZARET_AWS_API_KEYS_SECRET: keys.secretArn,
      LAZARET_REPORT_EVENT_BUS: addOn.agreed(addOn.reportEventBus, "ReportsEvents"),
      LAZARET_DOWNLOADS: addOn.agreed(addOn.downloads, "DoesDownloads"),
      LAZARET_ENGINE: told("Engine"),
      LAZARET_DELETE_INFECTED_FILES: told("DeleteInfectedFiles"),
      LAZARET_TAG_FILES: told("TagFiles"),
      LAZARET_TAG_KEY: told("TagKey"),
      LAZARET_REPORT_CLEAN_FILES: told("ReportCleanFiles"),
    },
  });
  const guard = new SecurityGroup(stack, "FleetGuard", { vpc, description: "Reached by the load balancer only" });
  const service = new FargateService(stack, "Fleet", {
    cluster,
    taskDefinition: definition,
    desiredCount: MIN_TASKS,
    capacityProviderStrategies: [{ capacityProvider: provider, weight: 1 }],
    vpcSubnets: { subnets: vpc.privateSubnets },
    securityGroups: [guard],
    circuitBreaker: { rollback: true },
    minHealthyPercent: 100,
    maxHealthyPercent: 200,
    healthCheckGracePeriod: Duration.minutes(10),
  });
  front.balancer.connections.allowTo(guard, Port.tcp(PORT), "Requests");
  front.targets.addTarget(service.loadBalancerTarget({ containerName: "service", containerPort: PORT }));
  const scaling = service.autoScaleTaskCount({ minCapacity: MIN_TASKS, maxCapacity: MAX_TASKS });
  scaling.scaleOnCpuUtilization("Cpu", { targetUtilizationPercent: CPU_PERCENT, scaleInCooldown: Duration.minutes(5) });

  // Where tasks run on instances, it is not theirs to say who has a public address.
  (service.node.defaultChild as CfnService).addPropertyOverride(
    "NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp",
    Fn.conditionIf(onInstances.logicalId, Aws.NO_VALUE, "DISABLED"),
  );
  service.node.addDependency(joined);
}

/**
 * Keys (when they were used), the audit log, what processes count for limits, files that were not clean, and this month's scans. Not jobs, nor
 * results.
 */
const WRITTEN_PARTITIONS = ["access", "audit", "counts", "findings", "usage"];

/** The fleet scans objects and tells of them, but takes in no jobs: of the queue it only asks how it is. */
function fleetRole(stack: Stack, { told }: AddOnParameters, keys: Secret): Role {
  const role = new Role(stack, "FleetRole", {
    assumedBy: tasksOfThisAccount(),
    managedPolicies: [ManagedPolicy.fromManagedPolicyArn(stack, "ObjectScans", told("ObjectScansPolicyArn"))],
  });
  mayDo(role, [
    allow("CountJobs", ["sqs:GetQueueAttributes"], [told("QueueArn"), told("DeadLettersArn")]),
    allow("ReadTable", ["dynamodb:Query", "dynamodb:GetItem"], [told("TableArn")]),
    allowPartitions("CountScans", ["dynamodb:PutItem", "dynamodb:UpdateItem"], {
      table: told("TableArn"),
      partitions: WRITTEN_PARTITIONS,
    }),
    allow("ReadApiKeys", ["secretsmanager:GetSecretValue"], [keys.secretArn]),
  ]);
  return role;
}
