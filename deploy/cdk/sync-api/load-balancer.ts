import { Duration, Fn, type Stack } from "aws-cdk-lib";
import { type IVpc, Peer, Port, SecurityGroup } from "aws-cdk-lib/aws-ec2";
import {
  ApplicationLoadBalancer,
  ApplicationProtocol,
  ApplicationTargetGroup,
  type CfnLoadBalancer,
  ListenerAction,
  ListenerCertificate,
  ListenerCondition,
  SslPolicy,
  TargetType,
} from "aws-cdk-lib/aws-elasticloadbalancingv2";
import type { AddOnParameters } from "../parts/add-on-parameters.ts";
import { explained } from "../parts/explained.ts";
import { PORT } from "../parts/scanning-task.ts";
import { accessLogs } from "./access-logs.ts";

export interface LoadBalancer {
  balancer: ApplicationLoadBalancer;
  targets: ApplicationTargetGroup;
}

/**
 * The longest request takes 60 seconds, and its answer a moment more. Shorter than the service keeps a connection that
 * nobody uses (75 seconds): else it could close one just when a request is sent on it, which is a 502.
 */
const IDLE = Duration.seconds(65);
/**
 * The synchronous endpoints in both dialects, and what clients ask about an API. Jobs have an API of their own. The
 * service takes doubled slashes for one, so these let them through; what else they let through it refuses itself.
 * A rule may have five wildcards.
 */
const PATHS = {
  Scan: ["*v1/*scan*/sync/*"],
  Ask: ["*v1/*test", "*v1/*whoami"],
  Usage: ["*v1/*usage"],
  Read: ["*/version", "*/docs", "*/openapi.json"],
};
/** As the service answers it. */
const NOTHING_HERE = {
  statusCode: 404,
  error: "Not Found",
  code: "not_found",
  message: "there is nothing at this path",
  hint: "this is the synchronous API; its paths are listed at /docs",
};

/** HTTPS in front of the fleet: from the internet, or from inside the network where that is private. */
export function loadBalancer(
  stack: Stack,
  addOn: AddOnParameters,
  options: { vpc: IVpc; certificateArn: string },
): LoadBalancer {
  const { vpc } = options;
  const guard = new SecurityGroup(stack, "BalancerGuard", {
    vpc,
    description: "HTTPS from clients",
    allowAllOutbound: false,
  });
  guard.addIngressRule(Peer.anyIpv4(), Port.tcp(443), "HTTPS");
  explained(guard, { "AwsSolutions::AwsSolutions-EC23": "clients are anywhere; every request needs a key" });

  const logs = accessLogs(stack);
  const balancer = new ApplicationLoadBalancer(stack, "Balancer", {
    vpc,
    vpcSubnets: { subnets: vpc.privateSubnets },
    securityGroup: guard,
    internetFacing: false,
    idleTimeout: IDLE,
    dropInvalidHeaderFields: true,
  });
  balancer.setAttribute("access_logs.s3.enabled", "true");
  balancer.setAttribute("access_logs.s3.bucket", logs.bucketName);
  balancer.node.addDependency(logs);
  const resource = balancer.node.defaultChild as CfnLoadBalancer;
  const open = addOn.downloads.on.logicalId;
  const subnets = (name: "PublicSubnets" | "WorkerSubnets"): string[] => Fn.split(",", addOn.told(name));
  resource.addPropertyOverride("Scheme", Fn.conditionIf(open, "internet-facing", "internal"));
  resource.addPropertyOverride("Subnets", Fn.conditionIf(open, subnets("PublicSubnets"), subnets("WorkerSubnets")));

  const targets = new ApplicationTargetGroup(stack, "Targets", {
    vpc,
    targetType: TargetType.IP,
    protocol: ApplicationProtocol.HTTP,
    port: PORT,
    // A request under way may take its 60 seconds.
    deregistrationDelay: Duration.seconds(65),
    healthCheck: { path: "/healthz", healthyHttpCodes: "204", interval: Duration.seconds(10) },
  });
  const listener = balancer.addListener("Https", {
    port: 443,
    protocol: ApplicationProtocol.HTTPS,
    open: false,
    sslPolicy: SslPolicy.TLS13_RES,
    certificates: [ListenerCertificate.fromArn(options.certificateArn)],
    defaultAction: ListenerAction.fixedResponse(404, {
      contentType: "application/json",
      messageBody: JSON.stringify(NOTHING_HERE),
    }),
  });
  for (const [index, [name, paths]] of Object.entries(PATHS).entries()) {
    listener.addAction(name, {
      priority: index + 1,
      conditions: [ListenerCondition.pathPatterns(paths)],
      action: ListenerAction.forward([targets]),
    });
  }
  return { balancer, targets };
}
