import assert from "node:assert/strict";
import { test } from "node:test";
import { allowed, functionSettings, parameterNames, wildcards } from "./support/reading.ts";
import { asyncApiOf, scannerOf, templates } from "./support/templates.ts";

const all = templates();
const { exports } = scannerOf(all);
const told = (name: string): string => exports[`lazaret-${name}`] ?? "";
const INSIDE = { FunctionVpc: "vpc-0123456789abcdef0", FunctionSubnets: "subnet-01234567,subnet-89abcdef" };

test("the parameters are those of the spec, whether there are downloads, and where callbacks may go", () => {
  assert.deepEqual(parameterNames(all.asyncApi), {
    all: [
      "ApiKeys",
      "CallbackNetworks",
      "Downloads",
      "FunctionSubnets",
      "FunctionVpc",
      "ReportEventBus",
      "ScannerStackName",
      "SignCallbackInvocations",
    ],
    required: ["ApiKeys"],
  });
});

test("the keys are hidden in the console, kept as a secret, and found nowhere else", () => {
  assert.equal(all.asyncApi.Parameters?.ApiKeys?.NoEcho, true);
  const api = asyncApiOf(all, { ApiKeys: "the-first-secret,the-second-secret" });
  const holders = api.resources.filter((each) => JSON.stringify(each.properties).includes("first-secret"));
  assert.deepEqual(
    holders.map(({ type }) => type),
    ["AWS::SecretsManager::Secret"],
  );
  assert.equal(api.one("AWS::SecretsManager::Secret").SecretString, "the-first-secret,the-second-secret");
});

for (const [name, ApiKeys] of [
  ["no key", ""],
  ["a key that is too short", "short"],
  ["a second key that is too short", "long-enough,short"],
  ["a comma too many", "long-enough,,long-enough-too"],
  ["a space inside a key", "long enough"],
] as const) {
  test(`refused: ${name}`, () => {
    assert.throws(() => asyncApiOf(all, { ApiKeys }), /must be one or more secrets of 16 to 512 visible characters/);
  });
}

for (const [name, parameters, message] of [
  ["a network without subnets", { FunctionVpc: INSIDE.FunctionVpc }, /FunctionVpc needs FunctionSubnets/],
  ["subnets without their network", { FunctionSubnets: INSIDE.FunctionSubnets }, /FunctionSubnets needs FunctionVpc/],
  ["the name of a network", { ...INSIDE, FunctionVpc: "main" }, /must be the id of a VPC/],
  ["spaces between subnets", { ...INSIDE, FunctionSubnets: "subnet-01234567, subnet-89abcdef" }, /no spaces/],
  ["a scanner that is not there", { ScannerStackName: "other" }, /No export named other-\w+ found/],
  [
    "signing by a scanner that does not sign",
    { SignCallbackInvocations: "true" },
    /No export named lazaret-SignsCallbacks found/,
  ],
  ["events of a scanner that emits none", { ReportEventBus: "true" }, /No export named lazaret-ReportsEvents found/],
] as const) {
  test(`refused: ${name}`, () => {
    assert.throws(() => asyncApiOf(all, parameters), message);
  });
}

test("downloads by a scanner in a private network are refused, and without them it is deployed", () => {
  const scanner = { Downloads: "false" };
  assert.throws(() => asyncApiOf(all, {}, scanner), /No export named lazaret-DoesDownloads found/);
  const api = asyncApiOf(all, { Downloads: "false" }, scanner);
  assert.equal(functionSettings(api).LAZARET_DOWNLOADS, "false");
});

test("the function is told where the scanner's queue and table are, and what was agreed", () => {
  const api = asyncApiOf(all, { SignCallbackInvocations: "true" }, { SignCallbackInvocations: "true", Engine: "Q" });
  assert.deepEqual(functionSettings(api), {
    LAZARET_PLATFORM: "aws",
    LAZARET_ROLE: "api",
    LAZARET_SCANNER_STACK_NAME: "lazaret",
    LAZARET_ENGINE: "Q",
    LAZARET_AWS_QUEUE_URL: told("QueueUrl"),
    LAZARET_AWS_DEAD_LETTERS_URL: told("DeadLettersUrl"),
    LAZARET_AWS_TABLE: told("TableName"),
    LAZARET_AWS_TOPIC_ARN: told("FindingsTopicArn"),
    LAZARET_AWS_EVENT_BUS: told("EventBusName"),
    LAZARET_AWS_API_KEYS_SECRET: api.resources.find(({ type }) => type === "AWS::SecretsManager::Secret")?.id,
    LAZARET_REPORT_EVENT_BUS: "false",
    LAZARET_SIGN_CALLBACK_INVOCATIONS: "true",
    LAZARET_DOWNLOADS: "true",
    LAZARET_ALLOW_CALLBACK_NETWORKS: "",
  });
});

test("the function adds jobs, finds results and reads its keys and the public ones; it may touch no object, take no job and sign nothing", () => {
  const signing = { SignCallbackInvocations: "true" };
  const [log = "", ...lines] = allowed(asyncApiOf(all, signing, signing).one("AWS::IAM::Policy"));
  assert.match(log, /^logs:CreateLogStream logs:PutLogEvents on FunctionLogs\w+\.Arn$/);
  assert.deepEqual(lines.slice(0, 2), [
    `sqs:SendMessage on ${told("QueueArn")}`,
    `dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem dynamodb:DeleteItem dynamodb:Query on ${told("TableArn")}`,
  ]);
  const parameters = "arn:aws:ssm:eu-west-1:123456789012:parameter/scanner/lazaret";
  assert.equal(lines[4], `ssm:GetParameter on ${parameters}/PublicKeyPEMPKCS1 ${parameters}/PublicKeyPEMX509`);
  assert.equal(lines.length, 5);
  assert.equal(allowed(asyncApiOf(all).one("AWS::IAM::Policy")).length, 5, "without signing there is nothing to read");
  assert.match(lines[2] ?? "", /^secretsmanager:GetSecretValue on Keys\w+$/);
  const sealing = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:scanner/lazaret/job-sealing-key-??????";
  assert.equal(
    lines[3],
    `secretsmanager:CreateSecret secretsmanager:GetSecretValue secretsmanager:PutSecretValue on ${sealing}`,
  );
  // The six characters that Secrets Manager puts behind the name of a secret.
  assert.deepEqual(wildcards(asyncApiOf(all)), [lines[3]]);
});

// spec: parameter-6
test("outside of a network the function has none; inside it reaches HTTPS, and nobody reaches it", () => {
  const outside = asyncApiOf(all);
  assert.equal(outside.one("AWS::Lambda::Function").VpcConfig, undefined);
  assert.deepEqual(outside.all("AWS::EC2::SecurityGroup"), []);

  const inside = asyncApiOf(all, INSIDE);
  assert.deepEqual(inside.one("AWS::Lambda::Function").VpcConfig, {
    SubnetIds: INSIDE.FunctionSubnets.split(","),
    SecurityGroupIds: ["FunctionGuard.GroupId"],
  });
  const guard = inside.one("AWS::EC2::SecurityGroup");
  assert.equal(guard.VpcId, INSIDE.FunctionVpc);
  assert.equal(guard.SecurityGroupIngress, undefined);
  assert.match(JSON.stringify(guard.SecurityGroupEgress), /"FromPort":443.*"ToPort":443/);
  // Lambda's network interfaces have no names before they are made.
  const wide = wildcards(inside).filter((line) => !line.startsWith("secretsmanager:"));
  assert.equal(wide.length, 1);
  assert.match(wide[0] ?? "", /^ec2:CreateNetworkInterface .* on \*$/);
});

test("the endpoints lead to the function in both dialects, and all else to its own answers, slowly", () => {
  const api = asyncApiOf(all);
  const routes = api.all("AWS::ApiGatewayV2::Route").map(({ RouteKey }) => RouteKey);
  assert.deepEqual(routes, [
    "$default",
    "POST /api/v1/scan/async/download",
    "POST /api/v1/scan/async/objstore",
    "GET /api/v1/scan/async/result",
    "GET /api/v1/test",
    "POST /api/v1/scan/async/s3",
    "GET /.well-known/lazaret/{key}",
    "ANY /v1/{rest+}",
  ]);
  const stage = api.one("AWS::ApiGatewayV2::Stage");
  assert.equal(stage.StageName, "$default");
  assert.deepEqual(stage.RouteSettings, { $default: { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 50 } });
  const named = Object.keys(stage.RouteSettings as object);
  for (const key of named) {
    const [id = ""] =
      Object.entries(all.asyncApi.Resources).find(([, { Type, Properties }]) => {
        return Type === "AWS::ApiGatewayV2::Route" && (Properties as { RouteKey: string }).RouteKey === key;
      }) ?? [];
    const made = Object.values(all.asyncApi.Resources).find(({ Type }) => Type === "AWS::ApiGatewayV2::Stage");
    assert.ok(made?.DependsOn?.includes(id), `the stage names the route ${key} and may be made before it`);
  }
  assert.equal(api.one("AWS::ApiGatewayV2::Integration").PayloadFormatVersion, "2.0");
  assert.equal(api.one("AWS::Lambda::Function").Runtime, "nodejs24.x");
});

test("a request leaves a line without its query, and lines are kept for 30 days", () => {
  const api = asyncApiOf(all);
  const { Format } = api.one("AWS::ApiGatewayV2::Stage").AccessLogSettings as { Format: string };
  assert.doesNotMatch(Format, /query|path|authoriz/i);
  for (const { RetentionInDays } of api.all("AWS::Logs::LogGroup")) assert.equal(RetentionInDays, 30);
  assert.equal(api.all("AWS::Logs::LogGroup").length, 2);
});

test("the endpoint is an output, and answers with 5xx are an alarm", () => {
  const api = asyncApiOf(all);
  assert.match(api.outputs.ApiEndpoint ?? "", /\.ApiEndpoint$/);
  const alarm = api.one("AWS::CloudWatch::Alarm");
  assert.deepEqual([alarm.MetricName, alarm.AlarmActions], ["5xx", [told("AlarmTopicArn")]]);
});
