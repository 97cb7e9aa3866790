import { Fn, type Stack } from "aws-cdk-lib";
import { CfnCertificate } from "aws-cdk-lib/aws-certificatemanager";
import type { ApplicationLoadBalancer } from "aws-cdk-lib/aws-elasticloadbalancingv2";
import { CfnRecordSet } from "aws-cdk-lib/aws-route53";
import type { DnsParameters } from "./dns-parameters.ts";

/** The certificate that was given, or one that proves itself by a record in the zone. Answers its ARN. */
export function certificate(
  stack: Stack,
  { automatic, domainName, hostedZoneId, certificateArn }: DnsParameters,
): string {
  const name = domainName.valueAsString;
  const made = new CfnCertificate(stack, "Certificate", {
    domainName: name,
    validationMethod: "DNS",
    domainValidationOptions: [{ domainName: name, hostedZoneId: hostedZoneId.valueAsString }],
  });
  made.cfnOptions.condition = automatic;
  return Fn.conditionIf(automatic.logicalId, made.ref, certificateArn.valueAsString).toString();
}

/** With AUTO_DNS the name leads to the load balancer. Answers the address of the API. */
export function address(stack: Stack, balancer: ApplicationLoadBalancer, dns: DnsParameters): string {
  const record = new CfnRecordSet(stack, "Record", {
    name: dns.domainName.valueAsString,
    type: "A",
    hostedZoneId: dns.hostedZoneId.valueAsString,
    aliasTarget: {
      dnsName: balancer.loadBalancerDnsName,
      hostedZoneId: balancer.loadBalancerCanonicalHostedZoneId,
      evaluateTargetHealth: false,
    },
  });
  record.cfnOptions.condition = dns.automatic;
  const name = Fn.conditionIf(dns.named.logicalId, dns.domainName.valueAsString, balancer.loadBalancerDnsName);
  return `https://${name.toString()}`;
}
