import assert from "node:assert/strict";
import { generateKeyPairSync, verify } from "node:crypto";
import { tmpdir } from "node:os";
import { before, test } from "node:test";
import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { type AwsInstallation, awsInstallation } from "../support/aws/aws-service.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { adminKey, visit } from "../support/console.ts";
import { eicar } from "../support/eicar.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import type { TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let installation: AwsInstallation;
let files: FileServer;
let service: TestService;
before(async () => {
  installation = await awsInstallation();
  files = await fileServer();
  service = await installation.service({ reportEventBus: true, signCallbackInvocations: true });
});
atTheEnd(async () => {
  await service[Symbol.asyncDispose]();
  await files[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
});

function post(path: string, body: object): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  return service.call(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function resultOf(traceId: string): Promise<unknown> {
  const poll = (): Promise<Response> =>
    service.call(`/api/v1/scan/async/result?trace_id=${encodeURIComponent(traceId)}`);
  await until(`there is a result for ${traceId}`, async () => (await poll()).status === 200, { limitMs: 60_000 });
  return (await poll()).json();
}

test("a download is queued on SQS, scanned, kept in DynamoDB and told to EventBridge", async () => {
  const body = { download_url: `${files.origin}/eicar`, trace_id: "on aws", custom_data: "💾 \ud83d" };
  assert.equal((await post("/api/v1/scan/async/download", body)).status, 201);
  assert.deepEqual(await resultOf("on aws"), {
    status: "infected",
    finding: "EICAR_Test_File",
    size: 68,
    realfiletype: "ASCII text",
  });
  const { events } = installation.aws.json;
  await until("the event is put", () => events.some(({ Detail }) => JSON.parse(Detail).trace_id === "on aws"));
  const event = events.find(({ Detail }) => JSON.parse(Detail).trace_id === "on aws");
  assert.deepEqual(
    [event?.Source, event?.DetailType, event?.EventBusName],
    ["com.scanner", "Download Scan Result", "lazaret"],
  );
  assert.equal(JSON.parse(event?.Detail ?? "").custom_data, body.custom_data);
});

// spec: event-1, event-4
test("an object on S3 is scanned, its version is tagged, and SNS has the finding with its attributes", async () => {
  const bucket = installation.aws.s3.bucket("uploads", "enabled");
  const stored = bucket.put("reports/q3 bad.txt", Buffer.from(eicar()), new Map([["owner", "sales"]]));
  const version = stored.id;
  const body = { bucket: "uploads", key: "reports/q3 bad.txt", trace_id: "object 💾", custom_data: "mine" };
  assert.equal((await post("/api/v1/scan/async/objstore", body)).status, 201);
  const result = (await resultOf("object 💾")) as { status: string };
  assert.equal(result.status, "infected");
  let found: Awaited<ReturnType<AwsInstallation["findings"]>> = [];
  await until("SNS has passed it on", async () => {
    found = [...found, ...(await installation.findings())];
    return found.length > 0;
  });
  const { message, email, attributes } = found[0] ?? { message: {}, email: "", attributes: {} };
  assert.equal(
    email,
    `uploads/reports/q3 bad.txt ${version} is infected, tag action executed\nfinding: EICAR_Test_File`,
  );
  assert.deepEqual(message, {
    bucket: "uploads",
    key: "reports/q3 bad.txt",
    version,
    size: 68,
    status: "infected",
    action: "tag",
    finding: "EICAR_Test_File",
    trace_id: "object 💾",
    custom_data: "mine",
    realfiletype: "ASCII text",
  });
  const text = (value: string) => ({ Type: "String", Value: value });
  assert.deepEqual(attributes, {
    bucket: text("uploads"),
    key: text("reports/q3 bad.txt"),
    version: text(version),
    size: { Type: "Number", Value: "68" },
    status: text("infected"),
    action: text("tag"),
    finding: text("EICAR_Test_File"),
    trace_id: text("object ##"),
  });
  assert.deepEqual(Object.fromEntries(stored.tags), { owner: "sales", scanner: "infected" });
});

test("the signing key is in Secrets Manager, its public halves in SSM, and callbacks verify with them", async () => {
  await using receiver = await callbackReceiver(answering(204));
  const url = `${receiver.origin}/done`;
  await post("/api/v1/scan/async/download", { download_url: `${files.origin}/clean`, callback_url: url });
  await until("the callback is there", () => receiver.requests.length > 0, { limitMs: 60_000 });
  const { parameters, secrets } = installation.aws.json;
  const publicKey = parameters.get("/scanner/lazaret/PublicKeyPEMX509") ?? "";
  assert.match(parameters.get("/scanner/lazaret/PublicKeyPEMPKCS1") ?? "", /BEGIN RSA PUBLIC KEY/);
  assert.match(secrets.get("scanner/lazaret/callback-signing-key")?.value ?? "", /BEGIN PRIVATE KEY/);
  const [callback] = receiver.requests;
  const [signature = "", timestamp = ""] = ["x-signature", "x-timestamp"].map(
    (name) => callback?.values(name)[0] ?? "",
  );
  const signed = Buffer.concat([Buffer.from(`${timestamp}.${url}.`), callback?.body ?? Buffer.alloc(0)]);
  assert.ok(verify("sha256", signed, publicKey, Buffer.from(signature, "hex")));
});

test("a bucket whose events go to the queue is guarded with no code", async () => {
  const bucket = installation.aws.s3.bucket("guarded", "enabled");
  const stored = bucket.put("in box/ü+1.txt", Buffer.from("a clean file"));
  const event = {
    Records: [
      {
        eventName: "ObjectCreated:Put",
        s3: { bucket: { name: "guarded" }, object: { key: "in+box/%C3%BC%2B1.txt", versionId: stored.id } },
      },
    ],
  };
  await installation.aws.sqs.send(String(installation.settings.awsQueueUrl), JSON.stringify(event));
  await until("the object is tagged", () => stored.tags.get("scanner") === "clean", {
    limitMs: 60_000,
  });
});

test("API keys come from a secret, and are exchanged without a restart", async () => {
  const { json } = installation.aws;
  json.putSecret("keys", "first-key-of-two-1, second-key-of-two-2");
  await using other = await installation.service({ apiKeys: [], awsApiKeysSecret: "keys", role: "api" });
  const status = async (key: string): Promise<number> =>
    (await fetch(`${other.url}/api/v1/test`, { headers: { Authorization: `Bearer ${key}` } })).status;
  assert.deepEqual(
    [await status("first-key-of-two-1"), await status("second-key-of-two-2"), await status("wrong-key")],
    [204, 204, 401],
  );
});

test("an operator sees the dead letters of AWS with lazaret dlq", async () => {
  await installation.aws.sqs.send(String(installation.settings.awsQueueUrl), "neither JSON nor a job");
  const run = (): CliRun =>
    runCli(["dlq", "list", "--json"], {
      cwd: tmpdir(),
      env: {
        LAZARET_PLATFORM: "aws",
        LAZARET_AWS_ENDPOINT: installation.aws.endpoint,
        LAZARET_AWS_QUEUE_URL: String(installation.settings.awsQueueUrl),
        LAZARET_AWS_DEAD_LETTERS_URL: String(installation.settings.awsDeadLettersUrl),
        LAZARET_AWS_TABLE: String(installation.settings.awsTable),
        LAZARET_AWS_TOPIC_ARN: String(installation.settings.awsTopicArn),
      },
    });
  const seen = async (): Promise<string> => {
    await using listing = run();
    assert.equal(await listing.ended(), 0, listing.stderr);
    return listing.stdout;
  };
  await until("it is buried and seen", async () => /not a JSON|not JSON/i.test(await seen()), { limitMs: 90_000 });
});

test("a signing key that is exchanged in its secret is used without a restart", async () => {
  const publicKey = async (): Promise<string> =>
    (await fetch(`${service.url}/.well-known/lazaret/callback-key.pem`)).text();
  const before = await publicKey();
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  installation.aws.json.putSecret("scanner/lazaret/callback-signing-key", pem);
  await until("the other key is shown", async () => (await publicKey()) !== before);
  assert.equal(installation.aws.json.parameters.get("/scanner/lazaret/PublicKeyPEMX509"), await publicKey());
});

test("what is missing for AWS is said at once, with a hint", async () => {
  await assert.rejects(installation.service({ awsQueueUrl: "", awsTable: "" }), (error: Error & { hint?: string }) => {
    assert.equal(error.message, "the AWS platform needs LAZARET_AWS_QUEUE_URL, LAZARET_AWS_TABLE");
    assert.match(error.hint ?? "", /outputs of the scanner stack/);
    return true;
  });
});

test("nothing that a client sent can be read in the queue or in the table, and the key is made once", async () => {
  const { aws } = installation;
  const [{ queueUrl }, table] = await Promise.all([aws.sqs.queues(), aws.dynamodb.table()]);
  await using api = await installation.service({ role: "api", awsQueueUrl: queueUrl, awsTable: table });
  const response = await api.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      download_url: `${files.origin}/clean?canary-of-a-link`,
      download_headers: { Authorization: "Bearer canary-of-a-header" },
      callback_url: `${files.origin}/callback?canary-of-a-callback`,
      callback_headers: { "X-Token": "canary-of-a-callback-header" },
      custom_data: "canary-of-custom-data",
    }),
  });
  assert.equal(response.status, 204);
  const sqs = new SQSClient({ endpoint: aws.endpoint, useQueueUrlAsEndpoint: false });
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl, WaitTimeSeconds: 1 }));
  sqs.destroy();
  const { lazaret } = JSON.parse(Messages[0]?.Body ?? "{}");
  assert.deepEqual([Messages.length, lazaret], [1, "sealed job"]);
  assert.doesNotMatch(JSON.stringify([Messages, await aws.dynamodb.items(table)]), /canary/);
  const [name, ...more] = [...aws.json.secrets.keys()].filter((each) => each.endsWith("job-sealing-key"));
  assert.deepEqual([name, more], ["scanner/lazaret/job-sealing-key", []]);
  assert.match(aws.json.secrets.get(name ?? "")?.value ?? "", /^[0-9a-f]{64}$/);
});

test("on AWS a session that one API began is known to every other", async () => {
  const keys = { role: "api", adminKeys: [adminKey] } as const;
  await using one = await installation.service(keys);
  await using other = await installation.service(keys);
  const { cookie } = await visit(one.url, adminKey);
  assert.equal((await fetch(`${other.url}/admin/v1/session`, { headers: { Cookie: cookie } })).status, 200);
});
