import assert from "node:assert/strict";
import { test } from "node:test";
import { containers, environment, functionSettings, statements } from "./support/reading.ts";
import { asyncApiOf, scannerOf, templates } from "./support/templates.ts";

const all = templates();
const open = scannerOf(all);
const isolated = scannerOf(all, { Downloads: "false" });
const WAYS_OUT = ["AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::EIP", "AWS::EC2::Route"];

test("with downloads each zone has its own way out, and workers none of their own", () => {
  assert.equal(open.all("AWS::EC2::NatGateway").length, 2);
  assert.equal(open.all("AWS::EC2::Subnet").length, 4);
  for (const subnet of open.all("AWS::EC2::Subnet")) assert.notEqual(subnet.MapPublicIpOnLaunch, true);
});

test("without downloads nothing leads to the internet, and every service has an endpoint in the network", () => {
  for (const type of WAYS_OUT) assert.deepEqual(isolated.all(type), [], type);
  assert.equal(isolated.all("AWS::EC2::Subnet").length, 2);
  const endpoints = isolated
    .all("AWS::EC2::VPCEndpoint")
    .map(({ ServiceName }) => String(ServiceName).split(".").slice(3).join("."));
  assert.deepEqual(endpoints.sort(), [
    "dynamodb",
    "ecr.api",
    "ecr.dkr",
    "events",
    "logs",
    "s3",
    "secretsmanager",
    "sns",
    "sqs",
    "ssm",
  ]);
  assert.equal(environment(containers(isolated).service).LAZARET_DOWNLOADS, "false");
});

test("S3 and DynamoDB are reached without the internet in both networks", () => {
  const gateways = open.all("AWS::EC2::VPCEndpoint");
  assert.deepEqual(
    gateways.map(({ VpcEndpointType }) => VpcEndpointType),
    ["Gateway", "Gateway"],
  );
});

test("a network without internet gets its signatures from a bucket that only it can read", () => {
  assert.deepEqual(open.all("AWS::S3::Bucket"), []);
  const bucket = isolated.one("AWS::S3::Bucket");
  assert.deepEqual(Object.values(bucket.PublicAccessBlockConfiguration as object), [true, true, true, true]);
  assert.match(JSON.stringify(bucket.BucketEncryption), /AES256/);
  const [deny, ...readers] = statements(isolated.one("AWS::S3::BucketPolicy"));
  assert.equal(deny?.Effect, "Deny");
  assert.deepEqual(
    readers.map(({ Action }) => Action),
    ["s3:ListBucket", "s3:GetObject"],
  );
  for (const { Condition } of readers) assert.match(JSON.stringify(Condition), /"aws:SourceVpce":"NetworkObjects/);
  assert.match(environment(containers(isolated).clamd).SIGNATURE_MIRROR ?? "", /^https:\/\/Signatures/);
});

test("the network has the addresses that the operator chose, and its traffic is logged", () => {
  const scanner = scannerOf(all, { NetworkCidr: "172.20.0.0/16" });
  assert.equal(scanner.one("AWS::EC2::VPC").CidrBlock, "172.20.0.0/16");
  const blocks = scanner.all("AWS::EC2::Subnet").map(({ CidrBlock }) => CidrBlock);
  assert.deepEqual(
    blocks,
    [0, 1, 2, 3].map((index) => `172.20.0.0/16#${index}`),
  );
  assert.equal(scanner.one("AWS::EC2::FlowLog").TrafficType, "ALL");
});

test("add-ons are told only of what the scanner does", () => {
  const promised = (parameters: Record<string, string>): string[] =>
    ["DoesDownloads", "PublicSubnets", "SignatureMirror", "SignsCallbacks", "ReportsEvents"].filter(
      (name) => `lazaret-${name}` in scannerOf(all, parameters).exports,
    );
  assert.deepEqual(promised({}), ["DoesDownloads", "PublicSubnets"]);
  assert.deepEqual(promised({ Downloads: "false" }), ["SignatureMirror"]);
  assert.deepEqual(promised({ SignCallbackInvocations: "true", ReportEventBus: "true" }), [
    "DoesDownloads",
    "PublicSubnets",
    "SignsCallbacks",
    "ReportsEvents",
  ]);
});

test("callbacks reach the private networks that the operator names, by workers and by what the API takes in", () => {
  const CallbackNetworks = "10.0.0.0/8,192.168.7.0/24";
  const scanner = { Downloads: "false", CallbackNetworks };
  assert.equal(
    environment(containers(scannerOf(all, scanner)).service).LAZARET_ALLOW_CALLBACK_NETWORKS,
    CallbackNetworks,
  );
  const api = asyncApiOf(all, scanner, scanner);
  assert.equal(functionSettings(api).LAZARET_ALLOW_CALLBACK_NETWORKS, CallbackNetworks);
  for (const wrong of ["10.0.0.0", "10.0.0.0/8, 10.1.0.0/16", "10.0.0.0/33", "internal"]) {
    assert.throws(() => scannerOf(all, { CallbackNetworks: wrong }), /must be networks such as 10.0.0.0\/8/, wrong);
  }
});

test("workers are started only when every way out of their network is there", () => {
  const { Resources } = all.scanner;
  const workers = Object.values(Resources).find(({ Type }) => Type === "AWS::ECS::Service");
  const { Metadata, DependsOn = [] } = Resources.NetworkReady ?? {};
  const refs = [...JSON.stringify(Metadata).matchAll(/"Ref":"(\w+)"/g)].map(([, id]) => id);
  const before = new Set([...DependsOn, ...refs]);
  assert.ok(workers?.DependsOn?.includes("NetworkReady"));
  const ways = Object.entries(Resources).filter(([, { Type }]) =>
    ["AWS::EC2::Route", "AWS::EC2::VPCEndpoint"].includes(Type),
  );
  assert.ok(ways.length >= 14, `${ways.length} ways out`);
  assert.deepEqual(
    ways.map(([id]) => id).filter((id) => !before.has(id)),
    [],
  );
});
