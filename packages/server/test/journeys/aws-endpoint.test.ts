import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from "@aws-sdk/client-dynamodb";
import { CreateBucketCommand, GetObjectTaggingCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { CreateTopicCommand, SNSClient } from "@aws-sdk/client-sns";
import { CreateQueueCommand, GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { GetParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { awsStandIn } from "../support/aws/aws-stand-in.ts";
import { useCredentials } from "../support/aws/credentials.ts";
import { anyEngine } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { fileServer } from "../support/file-server.ts";
import { testService } from "../support/service.ts";
import { until } from "../support/until.ts";

/**
 * The asynchronous journeys by nothing but AWS's own protocols, so that they run against any stand-in:
 * `npm run test:aws -- --endpoint http://127.0.0.1:4566`. Without one they run against ours.
 */
const given = process.env.TEST_AWS_ENDPOINT;

test(`an installation on ${given ?? "our stand-in for AWS"}: a download and an object are scanned, told and signed`, async () => {
  await using close = new AsyncDisposableStack();
  useCredentials();
  const own = given === undefined ? close.use(await awsStandIn()) : undefined;
  const endpoint = given ?? own?.endpoint ?? "";
  const config = { endpoint, region: "us-east-1" };
  process.env.AWS_REGION = config.region;
  const sqs = close.adopt(new SQSClient({ ...config, useQueueUrlAsEndpoint: false }), (client) => client.destroy());
  const dynamodb = close.adopt(new DynamoDBClient(config), (client) => client.destroy());
  const sns = close.adopt(new SNSClient(config), (client) => client.destroy());
  const s3 = close.adopt(new S3Client({ ...config, forcePathStyle: true }), (client) => client.destroy());
  const ssm = close.adopt(new SSMClient(config), (client) => client.destroy());
  const name = `lazaret-${randomUUID().slice(0, 8)}`;

  const { QueueUrl: deadLetters = "" } = await sqs.send(new CreateQueueCommand({ QueueName: `${name}-dead` }));
  const arn = new GetQueueAttributesCommand({ QueueUrl: deadLetters, AttributeNames: ["QueueArn"] });
  const { Attributes } = await sqs.send(arn);
  const policy = JSON.stringify({ deadLetterTargetArn: Attributes?.QueueArn, maxReceiveCount: 3 });
  const jobs = await sqs.send(new CreateQueueCommand({ QueueName: name, Attributes: { RedrivePolicy: policy } }));
  await dynamodb.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [
        { AttributeName: "pk", KeyType: "HASH" },
        { AttributeName: "sk", KeyType: "RANGE" },
      ],
      AttributeDefinitions: [
        { AttributeName: "pk", AttributeType: "S" },
        { AttributeName: "sk", AttributeType: "S" },
      ],
    }),
  );
  await waitUntilTableExists({ client: dynamodb, maxWaitTime: 60, minDelay: 1, maxDelay: 2 }, { TableName: name });
  const { TopicArn = "" } = await sns.send(new CreateTopicCommand({ Name: `${name}-findings` }));
  await s3.send(new CreateBucketCommand({ Bucket: name }));
  await s3.send(new PutObjectCommand({ Bucket: name, Key: "bad file.txt", Body: eicar() }));

  const files = close.use(await fileServer());
  const settings = {
    platform: "aws",
    awsEndpoint: endpoint,
    awsQueueUrl: jobs.QueueUrl ?? "",
    awsDeadLettersUrl: deadLetters,
    awsTable: name,
    awsTopicArn: TopicArn,
    scannerStackName: name,
    ...(await anyEngine()),
    reportEventBus: true,
    signCallbackInvocations: true,
  } as const;
  const service = close.use(await testService(settings, {}, own ? { now: own.sqs.now } : {}));

  for (const [path, body] of [
    ["download", { download_url: `${files.origin}/eicar`, trace_id: "download" }],
    ["objstore", { bucket: name, key: "bad file.txt", trace_id: "object" }],
  ] as const) {
    const headers = { "Content-Type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    assert.equal((await service.call(`/api/v1/scan/async/${path}`, init)).status, 201);
    const poll = (): Promise<Response> => service.call(`/api/v1/scan/async/result?trace_id=${body.trace_id}`);
    await until(`there is a result of the ${path}`, async () => (await poll()).status === 200, { limitMs: 120_000 });
    assert.equal(((await (await poll()).json()) as { status: string }).status, "infected");
  }
  const tagging = new GetObjectTaggingCommand({ Bucket: name, Key: "bad file.txt" });
  await until("the object is tagged", async () => (await s3.send(tagging)).TagSet?.[0]?.Value === "infected");
  const parameter = await ssm.send(new GetParameterCommand({ Name: `/scanner/${name}/PublicKeyPEMX509` }));
  assert.match(parameter.Parameter?.Value ?? "", /BEGIN PUBLIC KEY/);
});
