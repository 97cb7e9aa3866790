import assert from "node:assert/strict";
import { test } from "node:test";
import { allowed, wildcards } from "./support/reading.ts";
import { scannerOf, templates } from "./support/templates.ts";

const all = templates();
const told = (name: string): string => scannerOf(all).exports[`lazaret-${name}`] ?? "";

test("a worker works off the queue, keeps and seals jobs and results, and nothing else", () => {
  assert.deepEqual(allowed(scannerOf(all).one("AWS::IAM::Policy", "WorkerRole")), [
    `sqs:ReceiveMessage sqs:DeleteMessage sqs:ChangeMessageVisibility sqs:SendMessage sqs:GetQueueAttributes on ${told("QueueArn")}`,
    `sqs:SendMessage sqs:GetQueueAttributes on ${told("DeadLettersArn")}`,
    `dynamodb:GetItem dynamodb:PutItem dynamodb:UpdateItem dynamodb:DeleteItem dynamodb:Query on ${told("TableArn")}`,
    "secretsmanager:CreateSecret secretsmanager:GetSecretValue secretsmanager:PutSecretValue on " +
      "arn:aws:secretsmanager:eu-west-1:123456789012:secret:scanner/lazaret/job-sealing-key-??????",
  ]);
});

test("a worker that signs keeps the one key, and publishes it under the names of the spec", () => {
  const signing = scannerOf(all, { SignCallbackInvocations: "true" });
  const parameters = "arn:aws:ssm:eu-west-1:123456789012:parameter/scanner/lazaret";
  const secret = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:scanner/lazaret/callback-signing-key-??????";
  assert.deepEqual(allowed(signing.one("AWS::IAM::Policy", "WorkerRole")).slice(4), [
    `secretsmanager:CreateSecret secretsmanager:GetSecretValue secretsmanager:PutSecretValue on ${secret}`,
    `ssm:GetParameter ssm:PutParameter on ${parameters}/PublicKeyPEMPKCS1 ${parameters}/PublicKeyPEMX509`,
  ]);
});

test("without buckets no object can be touched", () => {
  const lines = allowed(scannerOf(all).one("AWS::IAM::ManagedPolicy"));
  assert.deepEqual(
    lines.map((line) => line.split(" on ")[0]),
    ["sns:Publish", "kms:Decrypt kms:GenerateDataKey"],
  );
  assert.equal(lines[0], `sns:Publish on ${told("FindingsTopicArn")}`);
});

test("objects of the buckets that were named are read and tagged, with their keys, and no others", () => {
  const Buckets = "arn:aws:s3:::uploads,arn:aws:s3:::reports";
  const BucketKeys = "arn:aws:kms:eu-west-1:123456789012:key/1234";
  const policy = scannerOf(all, { Buckets, BucketKeys }).one("AWS::IAM::ManagedPolicy");
  const objects = "arn:aws:s3:::uploads/* arn:aws:s3:::reports/*";
  assert.deepEqual(allowed(policy).slice(2), [
    "s3:ListBucket on arn:aws:s3:::uploads arn:aws:s3:::reports",
    `s3:GetObject s3:GetObjectVersion on ${objects}`,
    `kms:Decrypt on ${BucketKeys}`,
    `s3:GetObjectTagging s3:GetObjectVersionTagging s3:PutObjectTagging s3:PutObjectVersionTagging on ${objects}`,
  ]);
});

test("tagging, deleting and events are allowed only where they are wanted", () => {
  const actions = (parameters: Record<string, string>): string =>
    allowed(scannerOf(all, { Buckets: "arn:aws:s3:::uploads", ...parameters }).one("AWS::IAM::ManagedPolicy")).join(
      "\n",
    );
  assert.match(actions({}), /s3:PutObjectTagging/);
  assert.doesNotMatch(actions({ TagFiles: "false" }), /Tagging/);
  assert.doesNotMatch(actions({}), /s3:DeleteObject|events:PutEvents/);
  assert.match(
    actions({ DeleteInfectedFiles: "true" }),
    /s3:DeleteObject s3:DeleteObjectVersion on arn:aws:s3:::uploads\/\*/,
  );
  assert.match(actions({ ReportEventBus: "true" }), /events:PutEvents on Events\w+\.Arn/);
});

test("nothing may be done to just anything, but for what AWS has no names for", () => {
  const everything = scannerOf(all, {
    Buckets: "arn:aws:s3:::uploads",
    BucketKeys: "arn:aws:kms:eu-west-1:123456789012:key/1234",
    DeleteInfectedFiles: "true",
    SignCallbackInvocations: "true",
    ReportEventBus: "true",
  });
  const wide = wildcards(everything).filter((line) => !/^s3:\S+( s3:\S+)* on arn:aws:s3:::uploads\/\*$/.test(line));
  assert.deepEqual(wide, [
    // The six characters that Secrets Manager puts behind the name of a secret.
    "secretsmanager:CreateSecret secretsmanager:GetSecretValue secretsmanager:PutSecretValue on " +
      "arn:aws:secretsmanager:eu-west-1:123456789012:secret:scanner/lazaret/job-sealing-key-??????",
    "secretsmanager:CreateSecret secretsmanager:GetSecretValue secretsmanager:PutSecretValue on " +
      "arn:aws:secretsmanager:eu-west-1:123456789012:secret:scanner/lazaret/callback-signing-key-??????",
    // Knows no resources.
    "ecr:GetAuthorizationToken on *",
  ]);
});

test("a task's role is for tasks of this account only", () => {
  for (const id of ["WorkerRole", "ExecutionRole"]) {
    const role = scannerOf(all).one("AWS::IAM::Role", id);
    assert.match(JSON.stringify(role.AssumeRolePolicyDocument), /"aws:SourceAccount":"123456789012"/);
  }
});

for (const [name, parameters, message] of [
  ["deleting without buckets", { DeleteInfectedFiles: "true" }, /DeleteInfectedFiles needs Buckets/],
  ["keys without buckets", { BucketKeys: "arn:aws:kms:eu-west-1:123456789012:key/1" }, /BucketKeys needs Buckets/],
  ["the name of a bucket instead of its ARN", { Buckets: "uploads" }, /must be ARNs of buckets/],
  ["a second bucket that is none", { Buckets: "arn:aws:s3:::uploads,other" }, /must be ARNs of buckets/],
  ["a third engine", { Engine: "R" }, /Engine/],
  ["a network that is too small", { NetworkCidr: "10.0.0.0/24" }, /must be a network/],
  ["an address that is none", { AlarmEmail: "ops" }, /must be an email address/],
  ["a registry in front of the repository", { ImageRepository: "https://x/lazaret" }, /must be the name of an ECR/],
] as const) {
  test(`refused: ${name}`, () => {
    assert.throws(() => scannerOf(all, parameters), message);
  });
}
