import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type AwsInstallation, awsInstallation } from "../support/aws/aws-service.ts";
import { type FaultyProxy, faultyProxy } from "../support/aws/faulty-proxy.ts";
import { anyEngine } from "../support/clamd.ts";
import { atTheEnd } from "../support/leftovers.ts";

let installation: AwsInstallation;
let proxy: FaultyProxy;
const close = new AsyncDisposableStack();
before(async () => {
  installation = close.use(await awsInstallation());
  proxy = close.use(await faultyProxy(installation.aws.endpoint));
});
atTheEnd(() => close.disposeAsync());

test("readiness has its answer although AWS hangs, and says that the queue has none", async () => {
  await using service = await installation.service({
    ...(await anyEngine()),
    role: "api",
    awsEndpoint: proxy.endpoint,
  });
  assert.equal((await fetch(`${service.url}/readyz`)).status, 204);
  proxy.fault = () => ({ kind: "silent" });
  // What was remembered from before is answered for a moment.
  let response = await fetch(`${service.url}/readyz?verbose`);
  while (response.status === 200) response = await fetch(`${service.url}/readyz?verbose`);
  assert.equal(response.status, 503);
  const { checks } = (await response.json()) as { checks: { name: string; ok: boolean; detail: string }[] };
  assert.deepEqual(
    checks.find(({ name }) => name === "queue"),
    { name: "queue", ok: false, detail: "no answer within 1500 ms" },
  );
  proxy.fault = () => undefined;
});
