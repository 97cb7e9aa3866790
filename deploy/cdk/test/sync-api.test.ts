import assert from "node:assert/strict";
import { test } from "node:test";
import { SYNC_TIMEOUT_SECONDS } from "../../../packages/contract/src/limits.ts";
import { KEEP_ALIVE_MS } from "../../../packages/server/src/receive/http/http-server.ts";
import { allowed, containers, environment, parameterNames, statements, wildcards } from "./support/reading.ts";
import { scannerOf, syncApiOf, templates } from "./support/templates.ts";

const all = templates();
const { exports } = scannerOf(all);
const told = (name: string): string => exports[`lazaret-${name}`] ?? "";
const CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/0a1b";
const MANUAL = { DnsConfiguration: "MANUAL", HostedZoneId: "", DomainName: "", CertificateArn: CERTIFICATE };

test("the parameters are those of the spec, and whether there are downloads", () => {
  assert.deepEqual(parameterNames(all.syncApi), {
    all: [
      "ApiKeys",
      "CertificateArn",
      "DnsConfiguration",
      "DomainName",
      "Downloads",
      "HostedZoneId",
      "KeyName",
      "ReportEventBus",
      "ScannerStackName",
    ],
    required: ["ApiKeys"],
  });
  assert.equal(all.syncApi.Parameters?.ApiKeys?.NoEcho, true);
});

for (const [name, parameters, message] of [
  ["AUTO_DNS without a zone", { HostedZoneId: "" }, /AUTO_DNS needs HostedZoneId/],
  ["AUTO_DNS without a name", { DomainName: "" }, /AUTO_DNS needs DomainName/],
  ["AUTO_DNS with a certificate", { CertificateArn: CERTIFICATE }, /AUTO_DNS makes its own certificate/],
  ["MANUAL without a certificate", { ...MANUAL, CertificateArn: "" }, /MANUAL needs CertificateArn/],
  ["MANUAL with a zone", { ...MANUAL, HostedZoneId: "Z0123" }, /MANUAL makes no DNS record/],
  ["a third way of DNS", { DnsConfiguration: "AUTO" }, /DnsConfiguration/],
  ["an address instead of a name", { DomainName: "https://scan.example.com" }, /must be a DNS name/],
  ["a certificate that is none", { ...MANUAL, CertificateArn: "cert" }, /must be the ARN of a certificate/],
  ["machines in a private network", { KeyName: "ops", Downloads: "false" }, /KeyName needs Downloads true/],
  ["a key that is too short", { ApiKeys: "fifteen-letters" }, /16 to 512 visible characters/],
  ["events of a scanner that emits none", { ReportEventBus: "true" }, /No export named lazaret-ReportsEvents found/],
] as const) {
  test(`refused: ${name}`, () => {
    assert.throws(() => syncApiOf(all, parameters), message);
  });
}

// spec: parameter-7, parameter-8
test("AUTO_DNS makes the certificate and the record, and the endpoint has its name", () => {
  const api = syncApiOf(all);
  const certificate = api.one("AWS::CertificateManager::Certificate");
  assert.deepEqual([certificate.DomainName, certificate.ValidationMethod], ["scan.example.com", "DNS"]);
  const record = api.one("AWS::Route53::RecordSet");
  assert.deepEqual([record.Name, record.Type, record.HostedZoneId], ["scan.example.com", "A", "Z0123"]);
  assert.equal(api.outputs.ApiEndpoint, "https://scan.example.com");
  assert.deepEqual(api.one("AWS::ElasticLoadBalancingV2::Listener").Certificates, [{ CertificateArn: "Certificate" }]);
});

// spec: parameter-7
test("MANUAL takes the certificate, and leaves DNS alone", () => {
  const api = syncApiOf(all, MANUAL);
  assert.deepEqual(api.all("AWS::CertificateManager::Certificate"), []);
  assert.deepEqual(api.all("AWS::Route53::RecordSet"), []);
  assert.deepEqual(api.one("AWS::ElasticLoadBalancingV2::Listener").Certificates, [{ CertificateArn: CERTIFICATE }]);
  assert.match(api.outputs.ApiEndpoint ?? "", /^https:\/\/Balancer\w+\.DNSName$/);
  assert.equal(
    syncApiOf(all, { ...MANUAL, DomainName: "scan.example.com" }).outputs.ApiEndpoint,
    "https://scan.example.com",
  );
});

test("there is HTTPS with a recent TLS, and no plain HTTP", () => {
  const listener = syncApiOf(all).one("AWS::ElasticLoadBalancingV2::Listener");
  assert.deepEqual([listener.Port, listener.Protocol], [443, "HTTPS"]);
  assert.match(String(listener.SslPolicy), /TLS13-1-2/);
});

test("only the paths of the synchronous API reach the fleet, in every way to write them; others get the service's kind of 404", () => {
  const api = syncApiOf(all);
  const rules = api.all("AWS::ElasticLoadBalancingV2::ListenerRule") as {
    Conditions: { PathPatternConfig: { Values: string[] } }[];
  }[];
  const patterns = rules.map(({ Conditions }) => Conditions.flatMap((each) => each.PathPatternConfig.Values));
  for (const values of patterns) {
    assert.ok(values.length <= 5, `a rule has room for five values: ${values}`);
    assert.ok(values.join("").replace(/[^*]/g, "").length <= 5, `a rule has room for five wildcards: ${values}`);
  }
  const passes = (path: string): boolean =>
    patterns.flat().some((pattern) => {
      const parts = pattern.split("*").map((part) => part.replace(/[.]/g, "\\."));
      return new RegExp(`^${parts.join(".*")}$`).test(path);
    });
  const scans = ["download", "binary", "form", "objstore", "s3"].flatMap((name) => [
    `/api/v1/scan/sync/${name}`,
    `/v1/scan/sync/${name}`,
    `//api//v1/scan//sync/${name}`,
    `/v1//scan/sync//${name}`,
  ]);
  const asked = ["/api/v1/test", "/v1/test", "/v1/whoami", "/v1/usage", "/version", "/docs", "/openapi.json"];
  for (const path of [...scans, ...asked, ...asked.map((each) => each.replaceAll("/", "//"))]) {
    assert.ok(passes(path), `${path} is stopped`);
  }
  const closed = ["/metrics", "//metrics", "/healthz", "/livez", "/readyz", "/api/v1/scan/async/download", "/", "/v1/"];
  for (const path of [...closed, "/v1/scan/async/result", "/v1/callback/failures", "/objects/x"]) {
    assert.ok(!passes(path), `${path} passes`);
  }
  const [{ FixedResponseConfig: answer } = {}] = api.one("AWS::ElasticLoadBalancingV2::Listener").DefaultActions as {
    FixedResponseConfig?: { StatusCode: string; MessageBody: string };
  }[];
  assert.equal(answer?.StatusCode, "404");
  assert.deepEqual(Object.keys(JSON.parse(answer?.MessageBody ?? "{}")), [
    "statusCode",
    "error",
    "code",
    "message",
    "hint",
  ]);
});

test("a request may take its 60 seconds, also while a task is being replaced, and no connection is closed under it", () => {
  const api = syncApiOf(all);
  const attribute = (type: string, key: string, list: string): number => {
    const attributes = api.one(type)[list] as { Key: string; Value: string }[];
    return Number(attributes.find(({ Key }) => Key === key)?.Value);
  };
  const idle = "idle_timeout.timeout_seconds";
  const idleSeconds = attribute("AWS::ElasticLoadBalancingV2::LoadBalancer", idle, "LoadBalancerAttributes");
  assert.ok(idleSeconds > SYNC_TIMEOUT_SECONDS, `${idleSeconds} s`);
  assert.ok(idleSeconds * 1000 < KEEP_ALIVE_MS, "the service closes connections under the load balancer's requests");
  const delay = "deregistration_delay.timeout_seconds";
  assert.ok(attribute("AWS::ElasticLoadBalancingV2::TargetGroup", delay, "TargetGroupAttributes") > 60);
});

test("from the internet with downloads, from inside the network without", () => {
  const open = syncApiOf(all).one("AWS::ElasticLoadBalancingV2::LoadBalancer");
  assert.deepEqual([open.Scheme, (open.Subnets as string[]).join()], ["internet-facing", told("PublicSubnets")]);
  const inside = syncApiOf(all, { Downloads: "false" }, { Downloads: "false" });
  const closed = inside.one("AWS::ElasticLoadBalancingV2::LoadBalancer");
  assert.deepEqual([closed.Scheme, (closed.Subnets as string[]).join()], ["internal", told("WorkerSubnets")]);
  assert.equal(environment(containers(inside).service).LAZARET_DOWNLOADS, "false");
  assert.match(environment(containers(inside).clamd).SIGNATURE_MIRROR ?? "", /^https:\/\/Signatures/);
});

test("the network must be of the kind that the scanner has", () => {
  assert.throws(
    () => syncApiOf(all, {}, { Downloads: "false" }),
    /No export named lazaret-(PublicSubnets|DoesDownloads) found/,
  );
  assert.throws(() => syncApiOf(all, { Downloads: "false" }), /No export named lazaret-SignatureMirror found/);
});

test("the fleet is told what the scanner is set to", () => {
  const api = syncApiOf(all, {}, { Engine: "Q", TagKey: "av", ReportCleanFiles: "false" });
  assert.deepEqual(environment(containers(api).service), {
    LAZARET_PLATFORM: "aws",
    LAZARET_ROLE: "api",
    LAZARET_PORT: "8040",
    LAZARET_CLAMD: "tcp://127.0.0.1:3310",
    LAZARET_SCANNER_STACK_NAME: "lazaret",
    LAZARET_AWS_QUEUE_URL: told("QueueUrl"),
    LAZARET_AWS_DEAD_LETTERS_URL: told("DeadLettersUrl"),
    LAZARET_AWS_TABLE: told("TableName"),
    LAZARET_AWS_TOPIC_ARN: told("FindingsTopicArn"),
    LAZARET_AWS_EVENT_BUS: told("EventBusName"),
    LAZARET_AWS_API_KEYS_SECRET: api.resources.find(({ type }) => type === "AWS::SecretsManager::Secret")?.id,
    LAZARET_REPORT_EVENT_BUS: "false",
    LAZARET_DOWNLOADS: "true",
    LAZARET_ENGINE: "Q",
    LAZARET_DELETE_INFECTED_FILES: "false",
    LAZARET_TAG_FILES: "true",
    LAZARET_TAG_KEY: "av",
    LAZARET_REPORT_CLEAN_FILES: "false",
  });
});

test("the fleet scans objects as the workers do, takes in no jobs, writes no results, and may read its keys", () => {
  const api = syncApiOf(all);
  assert.deepEqual(api.one("AWS::IAM::Role", "FleetRole").ManagedPolicyArns, [told("ObjectScansPolicyArn")]);
  const lines = allowed(api.one("AWS::IAM::Policy", "FleetRole"));
  assert.deepEqual(lines.slice(0, 3), [
    `sqs:GetQueueAttributes on ${told("QueueArn")} ${told("DeadLettersArn")}`,
    `dynamodb:Query dynamodb:GetItem on ${told("TableArn")}`,
    `dynamodb:PutItem dynamodb:UpdateItem on ${told("TableArn")}: access audit counts findings usage`,
  ]);
  assert.match(lines[3] ?? "", /^secretsmanager:GetSecretValue on Keys\w+$/);
  assert.equal(lines.length, 4);
  // Knows no resources.
  assert.deepEqual(wildcards(api), ["ecr:GetAuthorizationToken on *"]);
});

test("without a key pair the fleet is on Fargate, and there are no machines", () => {
  const api = syncApiOf(all);
  assert.deepEqual(api.one("AWS::ECS::Service").CapacityProviderStrategy, [{ CapacityProvider: "FARGATE", Weight: 1 }]);
  for (const type of ["AWS::EC2::LaunchTemplate", "AWS::AutoScaling::AutoScalingGroup", "AWS::IAM::InstanceProfile"]) {
    assert.deepEqual(api.all(type), [], type);
  }
});

// spec: parameter-8
test("with a key pair the fleet is on machines with that key, encrypted disks and no address of the internet", () => {
  const api = syncApiOf(all, { KeyName: "ops" });
  assert.deepEqual(api.one("AWS::ECS::Service").CapacityProviderStrategy, [
    { CapacityProvider: "Capacity", Weight: 1 },
  ]);
  const template = api.one("AWS::EC2::LaunchTemplate").LaunchTemplateData as Record<string, unknown>;
  assert.equal(template.KeyName, "ops");
  assert.deepEqual(template.MetadataOptions, { HttpPutResponseHopLimit: 1, HttpTokens: "required" });
  assert.match(JSON.stringify(template.BlockDeviceMappings), /"Encrypted":true/);
  const group = api.one("AWS::AutoScaling::AutoScalingGroup");
  assert.equal((group.VPCZoneIdentifier as string[]).join(), told("WorkerSubnets"));
  const { SecurityGroupIngress } = api.one("AWS::EC2::SecurityGroup", "InstancesGuard");
  assert.deepEqual(SecurityGroupIngress, [
    { CidrIp: told("VpcCidr"), Description: "SSH from this network", FromPort: 22, IpProtocol: "tcp", ToPort: 22 },
  ]);
  assert.deepEqual(wildcards(api), [
    // Instances have no names before they are made.
    "ecs:Poll ecs:StartTelemetrySession ecs:UpdateContainerInstancesState on " +
      "arn:aws:ecs:eu-west-1:123456789012:container-instance/ClusterEB0386A7/*",
    // These two know no resources.
    "ecs:DiscoverPollEndpoint on *",
    "ecr:GetAuthorizationToken on *",
  ]);
});

test("requests leave a line in a bucket that is encrypted and not public", () => {
  const api = syncApiOf(all);
  const bucket = api.one("AWS::S3::Bucket");
  assert.deepEqual(Object.values(bucket.PublicAccessBlockConfiguration as object), [true, true, true, true]);
  assert.match(JSON.stringify(bucket.BucketEncryption), /AES256/);
  const [deny, write] = statements(api.one("AWS::S3::BucketPolicy"));
  assert.equal(deny?.Effect, "Deny");
  assert.deepEqual(write?.Principal, { Service: "logdelivery.elasticloadbalancing.amazonaws.com" });
  assert.match(
    JSON.stringify(api.one("AWS::ElasticLoadBalancingV2::LoadBalancer")),
    /access_logs.s3.enabled","Value":"true/,
  );
});

test("alarms: nobody answers, tasks are unhealthy, answers are 5xx", () => {
  const alarms = syncApiOf(all).all("AWS::CloudWatch::Alarm");
  assert.deepEqual(
    alarms.map(({ MetricName }) => MetricName),
    ["HTTPCode_ELB_5XX_Count", "UnHealthyHostCount", "HTTPCode_Target_5XX_Count"],
  );
  for (const { AlarmActions } of alarms) assert.deepEqual(AlarmActions, [told("AlarmTopicArn")]);
});

test("the fleet is started only when the load balancer leads to it, by every rule", () => {
  const { Resources } = all.syncApi;
  const fleet = Object.values(Resources).find(({ Type }) => Type === "AWS::ECS::Service");
  const rules = Object.entries(Resources).filter(
    ([, { Type }]) => Type === "AWS::ElasticLoadBalancingV2::ListenerRule",
  );
  assert.ok(rules.length >= 4, `${rules.length} rules`);
  assert.deepEqual(
    rules.map(([id]) => id).filter((id) => !fleet?.DependsOn?.includes(id)),
    [],
  );
});
