import assert from "node:assert/strict";
import { test } from "node:test";
import { openJobStore } from "../../src/platforms/aws/platform.ts";
import { sealingKey } from "../../src/platforms/aws/secrets.ts";
import { sampleJob } from "../contracts/sample-job.ts";
import { awsInstallation } from "../support/aws/aws-service.ts";
import { rawChecks } from "../support/aws/raw-checks.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { type CliOutcome, cliOutcome } from "../support/run-cli.ts";
import { until } from "../support/until.ts";

test("keys, tenants, the audit log and one tenant's dead letters are an operator's on AWS as well", async () => {
  await using installation = await awsInstallation();
  using folder = temporaryFolder();
  const { aws, settings } = installation;
  const [queueUrl, deadLetterQueueUrl] = [String(settings.awsQueueUrl), String(settings.awsDeadLettersUrl)];
  const tableName = String(settings.awsTable);
  const env = {
    LAZARET_PLATFORM: "aws",
    LAZARET_AWS_ENDPOINT: aws.endpoint,
    LAZARET_AWS_QUEUE_URL: queueUrl,
    LAZARET_AWS_DEAD_LETTERS_URL: deadLetterQueueUrl,
    LAZARET_AWS_TABLE: tableName,
    LAZARET_AWS_TOPIC_ARN: String(settings.awsTopicArn),
  };
  const lazaret = (...args: string[]): Promise<CliOutcome> => cliOutcome(args, { cwd: folder.path, env });

  const made = await lazaret("keys", "create", "--name", "web", "--tenant", "shop", "--scope", "scan,read");
  assert.equal(made.code, 0, made.err);
  assert.match(made.out, /^lz_\w{8}_\w{38}\n$/);
  assert.match((await lazaret("tenants", "set", "shop", "--weight", "2", "--jobs-waiting", "5")).err, /shop/);
  await using service = await installation.service({ role: "api" });
  const asks = async (secret: string): Promise<number> =>
    (await service.call("/v1/whoami", { headers: { Authorization: `Bearer ${secret.trim()}` } })).status;
  assert.equal(await asks(made.out), 200);
  const next = await lazaret("keys", "rotate", "shop/web", "--overlap", "1h");
  assert.equal((await lazaret("keys", "list")).out.match(/^web +shop +scan,read /gm)?.length, 2);
  await until("the new one is accepted, and the old one as yet", async () => (await asks(next.out)) === 200);
  assert.equal(await asks(made.out), 200);
  assert.match((await lazaret("keys", "revoke", "shop/web")).err, /is revoked[\s\S]*is revoked/);
  await until("both are refused", async () => (await asks(next.out)) === 401 && (await asks(made.out)) === 401);
  assert.match((await lazaret("tenants", "list")).out, /^shop +2 /m);

  const sealing = sealingKey({
    endpoint: aws.endpoint,
    region: "us-east-1",
    secretName: "scanner/lazaret/job-sealing-key",
  });
  const { sealer } = sealing;
  const endpoints = { sqs: aws.endpoint, dynamodb: aws.endpoint };
  const queues = { queueUrl, deadLetterQueueUrl, tableName };
  const store = openJobStore({ ...queues, endpoints, region: "us-east-1", checks: rawChecks, sealer });
  const jobs = ["shop", "bank", "shop"].map((tenant) => sampleJob({ tenant }));
  for (const job of jobs) await store.queue.add(job);
  for (const lease of await store.queue.take(3)) await lease.settle({ kind: "buried", reason: "test", job: lease.job });
  await store.close();
  sealing.close();
  const listed = JSON.parse((await lazaret("dlq", "list", "--tenant", "bank", "--json")).out.trim());
  assert.equal(JSON.stringify(listed).includes(String(jobs[1]?.id)), true);
  assert.equal(JSON.stringify(listed).includes(String(jobs[0]?.id)), false);
  assert.equal((await lazaret("dlq", "redrive", "--tenant", "shop")).out, "put back 2 of 2\n");
  assert.equal((await lazaret("jobs", "list", "--tenant", "shop")).out.match(/ ready /g)?.length, 2);
  assert.equal((await lazaret("dlq", "purge", "--tenant", "bank")).out, "deleted 1 of 1\n");

  const audit = (await lazaret("audit")).out;
  for (const act of ["keys.create", "tenants.set", "service.start", "keys.rotate", "keys.revoke", "dlq.redrive"])
    assert.match(audit, new RegExp(act.replace(".", "\\.")), audit);
  for (const secret of [made.out, next.out]) assert.ok(!audit.includes(secret.trim().slice(-38)));
});
