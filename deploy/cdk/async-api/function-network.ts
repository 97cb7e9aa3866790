import type { CfnCondition, CfnParameter, Stack } from "aws-cdk-lib";
import { CfnSecurityGroup } from "aws-cdk-lib/aws-ec2";
import { isGiven, isNot, listParameter, parameter, refuse } from "../parts/parameters.ts";

export interface FunctionNetwork {
  /** That the function runs inside a network of the operator's. */
  inside: CfnCondition;
  subnets: CfnParameter;
  /** There only when it does. */
  guard: CfnSecurityGroup;
}

/** Optional: a private network of the operator's that the function runs in. */
export function functionNetwork(stack: Stack): FunctionNetwork {
  const vpc = parameter(stack, "FunctionVpc", {
    description: "Optional: network that the API's function runs in. Needs FunctionSubnets",
    default: "",
    allowedPattern: "|vpc-[0-9a-f]{8,17}",
    constraintDescription: "must be the id of a VPC, or empty",
  });
  const subnets = listParameter(stack, "FunctionSubnets", {
    description:
      "Optional: subnets of FunctionVpc, comma-separated, with a way to the region's S3, SQS, DynamoDB, Secrets Manager and SSM",
    allowedPattern: "subnet-[0-9a-f]{8,17}",
    constraintDescription: "must be ids of subnets, with commas and no spaces between them, or empty",
  });
  refuse(stack, "FunctionVpcNeedsSubnets", {
    when: isNot(vpc, ""),
    must: isNot(subnets, ""),
    message: "FunctionVpc needs FunctionSubnets: name subnets of that VPC, or leave both empty",
  });
  refuse(stack, "FunctionSubnetsNeedVpc", {
    when: isNot(subnets, ""),
    must: isNot(vpc, ""),
    message: "FunctionSubnets needs FunctionVpc: name the VPC of these subnets, or leave both empty",
  });

  const inside = isGiven(stack, vpc);
  const guard = new CfnSecurityGroup(stack, "FunctionGuard", {
    groupDescription: "Function of the API - reaches AWS services, is reached by nobody",
    vpcId: vpc.valueAsString,
    securityGroupEgress: [{ ipProtocol: "tcp", fromPort: 443, toPort: 443, cidrIp: "0.0.0.0/0", description: "HTTPS" }],
  });
  guard.cfnOptions.condition = inside;
  return { inside, subnets, guard };
}
