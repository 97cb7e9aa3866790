import { CfnCondition, type CfnParameter, Fn, type Stack } from "aws-cdk-lib";
import { is, isGiven, isNot, parameter, refuse } from "../parts/parameters.ts";

export interface DnsParameters {
  hostedZoneId: CfnParameter;
  domainName: CfnParameter;
  certificateArn: CfnParameter;
  /** That DNS and TLS are configured here. */
  automatic: CfnCondition;
  /** That the name of the API is known. */
  named: CfnCondition;
}

/** How clients find the load balancer, and how it proves who it is. */
export function dnsParameters(stack: Stack): DnsParameters {
  const configuration = parameter(stack, "DnsConfiguration", {
    description: "AUTO_DNS makes the certificate and the DNS record, MANUAL leaves both to you",
    default: "AUTO_DNS",
    allowedValues: ["AUTO_DNS", "MANUAL"],
  });
  const hostedZoneId = parameter(stack, "HostedZoneId", {
    description: "AUTO_DNS: id of the Route 53 hosted zone for the name",
    default: "",
    allowedPattern: "|Z[A-Z0-9]{1,31}",
    constraintDescription: "must be the id of a hosted zone, such as Z0123456789ABCDEFGHIJ",
  });
  const domainName = parameter(stack, "DomainName", {
    description: "AUTO_DNS: name of the API inside that zone. MANUAL: optional, only shown as the endpoint",
    default: "",
    allowedPattern: "|([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}",
    constraintDescription: "must be a DNS name in lower case, such as scan.example.com",
  });
  const certificateArn = parameter(stack, "CertificateArn", {
    description: "MANUAL: certificate in this region's ACM for the name that you point at the load balancer",
    default: "",
    allowedPattern: "|arn:[a-z-]+:acm:[a-z0-9-]+:\\d{12}:certificate/[A-Za-z0-9-]+",
    constraintDescription: "must be the ARN of a certificate in ACM",
  });

  const auto = is(configuration, "AUTO_DNS");
  const manual = is(configuration, "MANUAL");
  refuse(stack, "AutoDnsNeedsZone", {
    when: auto,
    must: isNot(hostedZoneId, ""),
    message: "DnsConfiguration AUTO_DNS needs HostedZoneId: the Route 53 zone that the record is made in",
  });
  refuse(stack, "AutoDnsNeedsName", {
    when: auto,
    must: isNot(domainName, ""),
    message: "DnsConfiguration AUTO_DNS needs DomainName: the name of the API inside the zone",
  });
  refuse(stack, "AutoDnsMakesCertificate", {
    when: auto,
    must: is(certificateArn, ""),
    message: "DnsConfiguration AUTO_DNS makes its own certificate: leave CertificateArn empty, or choose MANUAL",
  });
  refuse(stack, "ManualNeedsCertificate", {
    when: manual,
    must: isNot(certificateArn, ""),
    message: "DnsConfiguration MANUAL needs CertificateArn: a certificate in this region's ACM",
  });
  refuse(stack, "ManualMakesNoRecord", {
    when: manual,
    must: is(hostedZoneId, ""),
    message: "DnsConfiguration MANUAL makes no DNS record: leave HostedZoneId empty, or choose AUTO_DNS",
  });
  return {
    hostedZoneId,
    domainName,
    certificateArn,
    automatic: new CfnCondition(stack, "AutoDns", {
      expression: Fn.conditionEquals(configuration.valueAsString, "AUTO_DNS"),
    }),
    named: isGiven(stack, domainName),
  };
}
