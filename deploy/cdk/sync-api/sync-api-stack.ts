import { type App, CfnOutput, Duration, Fn, Stack } from "aws-cdk-lib";
import { TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { type IVpc, Vpc } from "aws-cdk-lib/aws-ec2";
import { HttpCodeElb, HttpCodeTarget } from "aws-cdk-lib/aws-elasticloadbalancingv2";
import { type AddOnParameters, addOnParameters } from "../parts/add-on-parameters.ts";
import { alarm } from "../parts/alarm.ts";
import { apiKeysSecret } from "../parts/api-keys-secret.ts";
import { stackOptions } from "../parts/stack-options.ts";
import { address, certificate } from "./dns.ts";
import { dnsParameters } from "./dns-parameters.ts";
import { type LoadBalancer, loadBalancer } from "./load-balancer.ts";
import { syncFleet } from "./sync-fleet.ts";

export interface SyncApiOptions {
  stackName: string;
  /** Of the scanner stack, unless an operator says otherwise. */
  scannerName: string;
}

/** Add-on: the synchronous API, as a fleet behind a load balancer. Deprecated by the spec, and whole. */
export function syncApiStack(app: App, { stackName, scannerName }: SyncApiOptions): Stack {
  const stack = new Stack(app, "sync-api", stackOptions(stackName, "Lazaret: the synchronous API"));
  const addOn = addOnParameters(stack, scannerName);
  const dns = dnsParameters(stack);
  const vpc = networkOfScanner(stack, addOn);
  const front = loadBalancer(stack, addOn, { vpc, certificateArn: certificate(stack, dns) });
  syncFleet(stack, addOn, { vpc, front, keys: apiKeysSecret(stack, addOn.apiKeys) });
  alarms(stack, front, addOn.told("AlarmTopicArn"));
  new CfnOutput(stack, "ApiEndpoint", {
    value: address(stack, front.balancer, dns),
    description: "Base address of the API, {base_url} in its docs",
  });
  new CfnOutput(stack, "LoadBalancerName", {
    value: front.balancer.loadBalancerDnsName,
    description: "MANUAL: point your DNS record at it",
  });
  return stack;
}

function networkOfScanner(stack: Stack, { told }: AddOnParameters): IVpc {
  const [first = "", second = ""] = Fn.split(",", told("WorkerSubnets"), 2);
  return Vpc.fromVpcAttributes(stack, "Network", {
    vpcId: told("VpcId"),
    availabilityZones: [0, 1].map((index) => Fn.select(index, Fn.getAzs())),
    privateSubnetIds: [first, second],
  });
}

function alarms(stack: Stack, { balancer, targets }: LoadBalancer, alarmTopicArn: string): void {
  const often = { statistic: "Sum", period: Duration.minutes(5) };
  alarm(stack, "SyncApiAlarm", {
    metric: balancer.metrics.httpCodeElb(HttpCodeElb.ELB_5XX_COUNT, often),
    above: 0,
    periods: 2,
    means: "The load balancer has had nobody to answer requests for ten minutes",
    alarmTopicArn,
  });
  alarm(stack, "SyncFleetAlarm", {
    metric: targets.metrics.unhealthyHostCount({ statistic: "Maximum", period: Duration.minutes(5) }),
    above: 0,
    periods: 3,
    whenUnknown: TreatMissingData.BREACHING,
    means: "Tasks of the synchronous fleet have failed their health check for 15 minutes",
    alarmTopicArn,
  });
  alarm(stack, "SyncAnswersAlarm", {
    metric: targets.metrics.httpCodeTarget(HttpCodeTarget.TARGET_5XX_COUNT, often),
    above: 0,
    periods: 2,
    means: "The synchronous API has answered with 5xx for ten minutes",
    alarmTopicArn,
  });
}
