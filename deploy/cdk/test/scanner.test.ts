import assert from "node:assert/strict";
import { test } from "node:test";
import { containers, environment, parameterNames, statements } from "./support/reading.ts";
import { scannerOf, templates } from "./support/templates.ts";

const all = templates();
const { exports } = scannerOf(all);
const told = (name: string): string => exports[`lazaret-${name}`] ?? "";

test("only the tag of the images must be given, and every parameter says what it is", () => {
  const { required } = parameterNames(all.scanner);
  assert.deepEqual(required, ["ImageTag"]);
  for (const [name, { Description = "" }] of Object.entries(all.scanner.Parameters ?? {})) {
    assert.ok(Description.length > 10, name);
  }
});

test("a job is hidden for 30 seconds, kept for 14 days, and buried after it was received 20 times", () => {
  const jobs = scannerOf(all).one("AWS::SQS::Queue", "Jobs");
  assert.equal(jobs.VisibilityTimeout, 30);
  assert.equal(jobs.MessageRetentionPeriod, 14 * 86_400);
  assert.deepEqual(jobs.RedrivePolicy, { deadLetterTargetArn: told("DeadLettersArn"), maxReceiveCount: 20 });
  const deadLetters = scannerOf(all).one("AWS::SQS::Queue", "DeadLetters");
  assert.equal(deadLetters.MessageRetentionPeriod, 14 * 86_400);
});

test("both queues are encrypted and closed to plain HTTP", () => {
  const scanner = scannerOf(all);
  for (const queue of scanner.all("AWS::SQS::Queue")) assert.equal(queue.SqsManagedSseEnabled, true);
  const policies = scanner.all("AWS::SQS::QueuePolicy");
  assert.equal(policies.length, 2);
  for (const policy of policies) {
    const [first] = statements(policy);
    assert.equal(first?.Effect, "Deny");
    assert.deepEqual(first?.Condition, { Bool: { "aws:SecureTransport": "false" } });
  }
});

test("buckets, topics and event rules of this account may put messages on the queue, and those of others may not", () => {
  const senders = statements(scannerOf(all).one("AWS::SQS::QueuePolicy", "Jobs")).filter(
    (each) => each.Effect === "Allow",
  );
  assert.deepEqual(
    senders.map(({ Principal }) => Principal),
    ["s3", "sns", "events"].map((name) => ({ Service: `${name}.amazonaws.com` })),
  );
  for (const { Action, Condition } of senders) {
    assert.equal(Action, "sqs:SendMessage");
    assert.match(JSON.stringify(Condition), /123456789012/);
  }
});

test("the table has string keys, a time to live, encryption, recovery to any second, and is paid by request", () => {
  const table = scannerOf(all).one("AWS::DynamoDB::Table");
  assert.deepEqual(table.KeySchema, [
    { AttributeName: "pk", KeyType: "HASH" },
    { AttributeName: "sk", KeyType: "RANGE" },
  ]);
  assert.deepEqual(table.TimeToLiveSpecification, { AttributeName: "expires_at", Enabled: true });
  assert.deepEqual(table.SSESpecification, { SSEEnabled: true });
  assert.deepEqual(table.PointInTimeRecoverySpecification, { PointInTimeRecoveryEnabled: true });
  assert.equal(table.BillingMode, "PAY_PER_REQUEST");
});

test("the findings topic is named for the stack, and both topics are encrypted with a key that is changed every year", () => {
  const scanner = scannerOf(all);
  const topics = scanner.all("AWS::SNS::Topic");
  assert.deepEqual(
    topics.map(({ TopicName }) => TopicName),
    ["lazaret-findings", "lazaret-alarms"],
  );
  for (const { KmsMasterKeyId } of topics) assert.match(String(KmsMasterKeyId), /^TopicKey.*\.Arn$/);
  assert.equal(scanner.one("AWS::KMS::Key").EnableKeyRotation, true);
  assert.equal(scanner.one("AWS::Events::EventBus").Name, "lazaret-events");
});

test("CloudWatch may tell the alarm topic, and a mail goes to whom the operator named", () => {
  const policy = scannerOf(all).one("AWS::SNS::TopicPolicy", "Alarms");
  const [from] = statements(policy).filter(({ Effect }) => Effect === "Allow");
  assert.deepEqual(from?.Principal, { Service: "cloudwatch.amazonaws.com" });
  assert.deepEqual(scannerOf(all).all("AWS::SNS::Subscription"), []);
  const mail = scannerOf(all, { AlarmEmail: "ops@example.com" }).one("AWS::SNS::Subscription");
  assert.deepEqual([mail.Protocol, mail.Endpoint, mail.TopicArn], ["email", "ops@example.com", told("AlarmTopicArn")]);
});

test("workers are told where everything is, and what the operator wants", () => {
  const scanner = scannerOf(all, {
    Engine: "Q",
    TagKey: "av",
    DeleteInfectedFiles: "true",
    Buckets: "arn:aws:s3:::uploads",
  });
  assert.deepEqual(environment(containers(scanner).service), {
    LAZARET_PLATFORM: "aws",
    LAZARET_ROLE: "worker",
    LAZARET_PORT: "8040",
    LAZARET_CLAMD: "tcp://127.0.0.1:3310",
    LAZARET_SCANNER_STACK_NAME: "lazaret",
    LAZARET_AWS_QUEUE_URL: told("QueueUrl"),
    LAZARET_AWS_DEAD_LETTERS_URL: told("DeadLettersUrl"),
    LAZARET_AWS_TABLE: told("TableName"),
    LAZARET_AWS_TOPIC_ARN: told("FindingsTopicArn"),
    LAZARET_AWS_EVENT_BUS: told("EventBusName"),
    LAZARET_AWS_SIGNING_SECRET: "scanner/lazaret/callback-signing-key",
    LAZARET_REPORT_EVENT_BUS: "false",
    LAZARET_SIGN_CALLBACK_INVOCATIONS: "false",
    LAZARET_DOWNLOADS: "true",
    LAZARET_ALLOW_CALLBACK_NETWORKS: "",
    LAZARET_ENGINE: "Q",
    LAZARET_DELETE_INFECTED_FILES: "true",
    LAZARET_TAG_FILES: "true",
    LAZARET_TAG_KEY: "av",
    LAZARET_REPORT_CLEAN_FILES: "true",
  });
});

test("clamd runs beside each worker and shares no volume and no setting with it", () => {
  const { service, clamd } = containers(scannerOf(all));
  const mounted = (container: typeof service): string[] =>
    container.MountPoints.map(({ SourceVolume }) => SourceVolume);
  assert.deepEqual(mounted(service), ["work"]);
  assert.deepEqual(mounted(clamd), ["signatures", "unpacked"]);
  assert.deepEqual(environment(clamd), { SIGNATURE_MIRROR: "-" });
  for (const container of [service, clamd]) {
    assert.equal(container.ReadonlyRootFilesystem, true, container.Name);
    assert.equal(container.Essential, true, container.Name);
    assert.equal(container.LogConfiguration.LogDriver, "awslogs", container.Name);
  }
  assert.deepEqual(service.DependsOn, [{ ContainerName: "clamd", Condition: "HEALTHY" }]);
  assert.equal(service.Image, "123456789012.dkr.ecr.eu-west-1.amazonaws.com/lazaret:1.2.3");
  assert.equal(clamd.Image, `${service.Image}-clamd`);
});

test("workers have no address of the internet, and nobody may connect to them", () => {
  const scanner = scannerOf(all);
  const { NetworkConfiguration } = scanner.one("AWS::ECS::Service") as {
    NetworkConfiguration: { AwsvpcConfiguration: { AssignPublicIp: string; Subnets: string[] } };
  };
  assert.equal(NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp, "DISABLED");
  assert.equal(NetworkConfiguration.AwsvpcConfiguration.Subnets.join(), told("WorkerSubnets"));
  assert.equal(scanner.one("AWS::EC2::SecurityGroup", "WorkersGuard").SecurityGroupIngress, undefined);
});

test("there are as many workers as jobs need, between the two numbers of the operator", () => {
  const scanner = scannerOf(all, { MinWorkers: "2", MaxWorkers: "50" });
  const target = scanner.one("AWS::ApplicationAutoScaling::ScalableTarget");
  assert.deepEqual([target.MinCapacity, target.MaxCapacity], ["2", "50"]);
  const backlog = scanner.one("AWS::ApplicationAutoScaling::ScalingPolicy", "Backlog");
  assert.match(String(backlog.ScalingTargetId), /^WorkersTaskCountTarget/);
  assert.match(JSON.stringify(backlog), /"waiting \/ running".*"TargetValue":100/);
  const age = scanner.one("AWS::ApplicationAutoScaling::ScalingPolicy", "WorkersTaskCountTargetAge");
  assert.deepEqual((age.StepScalingPolicyConfiguration as { StepAdjustments: unknown }).StepAdjustments, [
    { MetricIntervalLowerBound: 0, MetricIntervalUpperBound: 540, ScalingAdjustment: 2 },
    { MetricIntervalLowerBound: 540, ScalingAdjustment: 5 },
  ]);
});

test("alarms: dead letters, a job older than 12 hours, signatures older than 7 days", () => {
  const scanner = scannerOf(all);
  const alarm = (id: string): unknown[] => {
    const { MetricName, Threshold, ComparisonOperator, TreatMissingData, AlarmActions, OKActions } = scanner.one(
      "AWS::CloudWatch::Alarm",
      id,
    );
    assert.deepEqual([AlarmActions, OKActions], [[told("AlarmTopicArn")], [told("AlarmTopicArn")]]);
    assert.equal(ComparisonOperator, "GreaterThanThreshold");
    return [MetricName, Threshold, TreatMissingData];
  };
  assert.deepEqual(alarm("DeadLettersAlarm"), ["ApproximateNumberOfMessagesVisible", 0, "notBreaching"]);
  assert.deepEqual(alarm("OldestJobAlarm"), ["ApproximateAgeOfOldestMessage", 12 * 3600, "notBreaching"]);
  assert.deepEqual(alarm("SignaturesAlarm"), ["SignatureAge", 7 * 86_400, "breaching"]);
  const filter = scanner.one("AWS::Logs::MetricFilter", "SignatureAge");
  assert.equal(filter.FilterPattern, '{ $.event = "signatures" }');
  assert.match(JSON.stringify(filter.MetricTransformations), /"MetricValue":"\$\.age_seconds"/);
});

test("one page shows queue, workers, verdicts, signatures and alarms", () => {
  const { DashboardName, DashboardBody } = scannerOf(all).one("AWS::CloudWatch::Dashboard");
  assert.equal(DashboardName, "lazaret");
  const titles = (JSON.parse(String(DashboardBody)) as { widgets: { properties: { title: string } }[] }).widgets.map(
    ({ properties }) => properties.title,
  );
  assert.deepEqual(titles, [
    "Alarms",
    "Jobs",
    "Seconds the oldest job waits",
    "Dead letters",
    "Verdicts a minute",
    "Workers",
    "CPU and memory of workers, %",
    "Seconds since signatures were built",
  ]);
});

test("logs are kept for 30 days", () => {
  const groups = scannerOf(all).all("AWS::Logs::LogGroup");
  assert.equal(groups.length, 3);
  for (const { RetentionInDays } of groups) assert.equal(RetentionInDays, 30);
});
