import { Aws, type CfnCondition, type CfnParameter, Fn, type Stack } from "aws-cdk-lib";
import { CfnAutoScalingGroup } from "aws-cdk-lib/aws-autoscaling";
import { CfnLaunchTemplate, CfnSecurityGroup } from "aws-cdk-lib/aws-ec2";
import { CfnCapacityProvider, CfnClusterCapacityProviderAssociations, type Cluster } from "aws-cdk-lib/aws-ecs";
import { CfnInstanceProfile, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { AddOnParameters } from "../parts/add-on-parameters.ts";
import { explained } from "../parts/explained.ts";
import { onlyWhen } from "../parts/only-when.ts";
import { is, isGiven, isNot, parameter, refuse } from "../parts/parameters.ts";
import { allow, mayDo } from "../parts/permissions.ts";

export interface Capacity {
  /** That there is a key pair: then the fleet runs on instances that its owner can log in to, else on Fargate. */
  onInstances: CfnCondition;
  /** Name of the capacity provider. */
  provider: string;
  /** To wait for. */
  joined: CfnClusterCapacityProviderAssociations;
}

export interface CapacityOptions {
  addOn: AddOnParameters;
  cluster: Cluster;
  min: number;
  max: number;
}

/** Two vCPUs, as a task has, and more memory than a task, because the machine itself needs some. */
const INSTANCE_TYPE = "r6i.large";
/** Kept up to date by AWS; new instances start with the newest. */
const IMAGE = "resolve:ssm:/aws/service/ecs/optimized-ami/amazon-linux-2023/recommended/image_id";
const DISK_GIB = 100;

/** A key pair is for machines, and Fargate shows none: with KeyName the same tasks run on instances of this stack. */
export function capacity(stack: Stack, { addOn, cluster, min, max }: CapacityOptions): Capacity {
  const keyName = parameter(stack, "KeyName", {
    description: "Optional: EC2 key pair for the workers. They run on EC2 instances then, else on Fargate",
    default: "",
    allowedPattern: "|[ -~]{1,255}",
    constraintDescription: "must be the name of a key pair of this region, or empty",
  });
  refuse(stack, "InstancesNeedInternet", {
    when: isNot(keyName, ""),
    must: is(addOn.downloads.parameter, "true"),
    message:
      "KeyName needs Downloads true: instances reach ECS by the internet, and a private network has no way there",
  });
  const onInstances = isGiven(stack, keyName);
  const role = instanceRole(stack, cluster);
  const profile = new CfnInstanceProfile(stack, "InstanceProfile", { roles: [role.roleName] });
  const guard = new CfnSecurityGroup(stack, "InstancesGuard", {
    groupDescription: "SSH from inside the network",
    vpcId: addOn.told("VpcId"),
    securityGroupIngress: [
      {
        ipProtocol: "tcp",
        fromPort: 22,
        toPort: 22,
        cidrIp: addOn.told("VpcCidr"),
        description: "SSH from this network",
      },
    ],
    securityGroupEgress: [{ ipProtocol: "-1", cidrIp: "0.0.0.0/0", description: "To ECS, and to the images" }],
  });
  explained(guard, {
    "AwsSolutions::AwsSolutions-EC23": "the addresses are those of the network, which the scanner stack tells",
  });
  const template = launchTemplate(stack, { keyName, cluster, profile, guard });
  const group = new CfnAutoScalingGroup(stack, "Instances", {
    launchTemplate: { launchTemplateId: template.ref, version: template.attrLatestVersionNumber },
    minSize: String(min),
    maxSize: String(max),
    vpcZoneIdentifier: Fn.split(",", addOn.told("WorkerSubnets")),
    cooldown: "300",
    healthCheckType: "EC2",
    healthCheckGracePeriod: 120,
  });
  explained(group, {
    "AwsSolutions::AwsSolutions-AS3": "ECS starts and stops instances as tasks need them; the alarms tell what matters",
  });
  const made = new CfnCapacityProvider(stack, "Capacity", {
    autoScalingGroupProvider: {
      autoScalingGroupArn: group.ref,
      managedScaling: { status: "ENABLED", targetCapacity: 100 },
      managedTerminationProtection: "DISABLED",
      managedDraining: "ENABLED",
    },
  });
  onlyWhen(onInstances, role, profile, guard, template, group, made);

  const provider = Fn.conditionIf(onInstances.logicalId, made.ref, "FARGATE").toString();
  const joined = new CfnClusterCapacityProviderAssociations(stack, "CapacityOfCluster", {
    cluster: cluster.clusterName,
    capacityProviders: [provider],
    defaultCapacityProviderStrategy: [],
  });
  return { onInstances, provider, joined };
}

/** What the agent of ECS does on an instance, in this cluster only. */
function instanceRole(stack: Stack, cluster: Cluster): Role {
  const role = new Role(stack, "InstanceRole", { assumedBy: new ServicePrincipal("ec2.amazonaws.com") });
  const own = `arn:${Aws.PARTITION}:ecs:${Aws.REGION}:${Aws.ACCOUNT_ID}:container-instance/${cluster.clusterName}/*`;
  mayDo(role, [
    allow(
      "JoinCluster",
      [
        "ecs:RegisterContainerInstance",
        "ecs:DeregisterContainerInstance",
        "ecs:SubmitTaskStateChange",
        "ecs:SubmitContainerStateChange",
        "ecs:SubmitAttachmentStateChanges",
      ],
      [cluster.clusterArn],
    ),
    allow("RunTasks", ["ecs:Poll", "ecs:StartTelemetrySession", "ecs:UpdateContainerInstancesState"], [own]),
    allow("FindEndpoint", ["ecs:DiscoverPollEndpoint"], ["*"]),
  ]);
  explained(role, {
    "AwsSolutions::AwsSolutions-IAM5[Resource::*]": "ecs:DiscoverPollEndpoint knows no resources",
    [`AwsSolutions::AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:ecs:<AWS::Region>:<AWS::AccountId>:container-instance/<${stack.getLogicalId(cluster.node.defaultChild as never)}>/*]`]:
      "instances have no names before they are made; only those of this cluster",
  });
  return role;
}

interface LaunchTemplateOptions {
  keyName: CfnParameter;
  cluster: Cluster;
  profile: CfnInstanceProfile;
  guard: CfnSecurityGroup;
}

function launchTemplate(stack: Stack, { keyName, cluster, profile, guard }: LaunchTemplateOptions): CfnLaunchTemplate {
  // Tasks have roles of their own; those of the machine are not for them.
  const settings = `ECS_CLUSTER=${cluster.clusterName}\\nECS_AWSVPC_BLOCK_IMDS=true\\n`;
  const script = `#!/bin/sh\nprintf '${settings}' >> /etc/ecs/ecs.config\n`;
  return new CfnLaunchTemplate(stack, "InstanceTemplate", {
    launchTemplateData: {
      imageId: IMAGE,
      instanceType: INSTANCE_TYPE,
      keyName: keyName.valueAsString,
      iamInstanceProfile: { arn: profile.attrArn },
      securityGroupIds: [guard.attrGroupId],
      monitoring: { enabled: true },
      metadataOptions: { httpTokens: "required", httpPutResponseHopLimit: 1 },
      blockDeviceMappings: [
        {
          deviceName: "/dev/xvda",
          ebs: { encrypted: true, volumeType: "gp3", volumeSize: DISK_GIB, deleteOnTermination: true },
        },
      ],
      userData: Fn.base64(script),
    },
  });
}
