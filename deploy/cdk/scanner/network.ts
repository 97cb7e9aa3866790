import {
  Aws,
  CfnCondition,
  type CfnResource,
  CfnWaitConditionHandle,
  Fn,
  type ICfnConditionExpression,
  type Stack,
} from "aws-cdk-lib";
import {
  CfnInternetGateway,
  CfnRoute,
  CfnVPCGatewayAttachment,
  FlowLogDestination,
  type GatewayVpcEndpoint,
  GatewayVpcEndpointAwsService,
  InterfaceVpcEndpointAwsService,
  IpAddresses,
  type ISubnet,
  Peer,
  Port,
  SecurityGroup,
  SubnetType,
  Vpc,
} from "aws-cdk-lib/aws-ec2";
import { explained } from "../parts/explained.ts";
import { keptLogs } from "../parts/kept-logs.ts";
import { onlyWhen } from "../parts/only-when.ts";
import { tell } from "../parts/told.ts";
import type { ScannerParameters } from "./scanner-parameters.ts";

export interface Network {
  vpc: Vpc;
  /** The way to S3, which is there with and without internet. */
  objectsEndpoint: GatewayVpcEndpoint;
  /** That there is no way to the internet. */
  isPrivate: CfnCondition;
  /** There when all routes and endpoints are: what runs in the network needs them before it starts. */
  ready: CfnWaitConditionHandle;
}

const ZONES = 2;
/** 4,096 addresses for each subnet, of which every task takes one. */
const HOST_BITS = 12;

/** What workers ask over the network; without internet each needs an endpoint of its own. */
const services = {
  Sqs: InterfaceVpcEndpointAwsService.SQS,
  Sns: InterfaceVpcEndpointAwsService.SNS,
  Events: InterfaceVpcEndpointAwsService.EVENTBRIDGE,
  Secrets: InterfaceVpcEndpointAwsService.SECRETS_MANAGER,
  Parameters: InterfaceVpcEndpointAwsService.SSM,
  Images: InterfaceVpcEndpointAwsService.ECR,
  ImageLayers: InterfaceVpcEndpointAwsService.ECR_DOCKER,
  Logs: InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS,
};

/**
 * A network of two zones for the workers and for what clients reach.
 *
 *   Downloads=true    worker subnets ─▶ a NAT gateway for each zone ─▶ internet; load balancers in public subnets
 *   Downloads=false   worker subnets ─▶ endpoints of the services above, and nothing else; no internet gateway at all
 */
export function network(stack: Stack, { downloads, networkCidr }: ScannerParameters): Network {
  const vpc = new Vpc(stack, "Network", {
    ipAddresses: IpAddresses.cidr("10.80.0.0/16"),
    maxAzs: ZONES,
    natGateways: ZONES,
    restrictDefaultSecurityGroup: false,
    subnetConfiguration: [
      { name: "Public", subnetType: SubnetType.PUBLIC, mapPublicIpOnLaunch: false },
      { name: "Worker", subnetType: SubnetType.PRIVATE_WITH_EGRESS },
    ],
  });
  numberSubnets(vpc, networkCidr.valueAsString);
  vpc.addFlowLog("FlowLog", { destination: FlowLogDestination.toCloudWatchLogs(keptLogs(stack, "NetworkLogs")) });

  const subnets = [{ subnetType: SubnetType.PRIVATE_WITH_EGRESS }];
  const objectsEndpoint = vpc.addGatewayEndpoint("Objects", { service: GatewayVpcEndpointAwsService.S3, subnets });
  const tablesEndpoint = vpc.addGatewayEndpoint("Tables", { service: GatewayVpcEndpointAwsService.DYNAMODB, subnets });
  const isPrivate = new CfnCondition(stack, "PrivateNetwork", { expression: Fn.conditionNot(downloads.on) });
  const guard = new SecurityGroup(stack, "EndpointsGuard", {
    vpc,
    description: "Lets the network reach the endpoints of AWS services",
    allowAllOutbound: false,
  });
  guard.addIngressRule(Peer.ipv4(vpc.vpcCidrBlock), Port.tcp(443), "HTTPS from this network");
  explained(guard, {
    "AwsSolutions::AwsSolutions-EC23": "the addresses are those of this network, known when it is deployed",
  });
  const endpoints = Object.entries(services).map(([name, service]) =>
    vpc.addInterfaceEndpoint(name, { service, open: false, securityGroups: [guard] }),
  );
  onlyWhen(isPrivate, guard, ...endpoints);

  const toInternet = vpc.node
    .findAll()
    .filter((each) => [CfnInternetGateway, CfnVPCGatewayAttachment, CfnRoute].some((kind) => each instanceof kind));
  onlyWhen(downloads.on, ...vpc.publicSubnets, ...toInternet);
  const routes = toInternet.filter((each) => each instanceof CfnRoute);

  const ids = (subnets: ISubnet[]): string =>
    Fn.join(
      ",",
      subnets.map(({ subnetId }) => subnetId),
    );
  tell(stack, "VpcId", vpc.vpcId);
  tell(stack, "VpcCidr", vpc.vpcCidrBlock);
  tell(stack, "WorkerSubnets", ids(vpc.privateSubnets));
  tell(stack, "PublicSubnets", ids(vpc.publicSubnets), downloads.on);
  tell(stack, "DoesDownloads", "true", downloads.on);
  const ready = new CfnWaitConditionHandle(stack, "NetworkReady");
  // A template cannot depend on what may not be there; what it refers to under a condition comes before it all the same.
  ready.cfnOptions.metadata = {
    Routes: whenThere(downloads.on, routes),
    Endpoints: whenThere(
      isPrivate,
      endpoints.map(({ node }) => node.defaultChild as CfnResource),
    ),
  };
  ready.node.addDependency(objectsEndpoint, tablesEndpoint);
  return { vpc, objectsEndpoint, isPrivate, ready };
}

function whenThere(condition: CfnCondition, resources: readonly CfnResource[]): ICfnConditionExpression {
  return Fn.conditionIf(
    condition.logicalId,
    resources.map(({ ref }) => ref),
    Aws.NO_VALUE,
  );
}

/** The CDK wants to know addresses when it writes the template; ours are known when it is deployed. */
function numberSubnets(vpc: Vpc, cidr: string): void {
  (vpc.node.defaultChild as CfnResource).addPropertyOverride("CidrBlock", cidr);
  [...vpc.publicSubnets, ...vpc.privateSubnets].forEach((subnet, index, all) => {
    const block = Fn.select(index, Fn.cidr(cidr, all.length, String(HOST_BITS)));
    (subnet.node.defaultChild as CfnResource).addPropertyOverride("CidrBlock", block);
  });
}
