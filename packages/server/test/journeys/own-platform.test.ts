import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { test } from "node:test";
import { memoryPlatform, memoryStorage } from "../contracts/memory-platform.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { anyEngine } from "../support/clamd.ts";
import { fileServer } from "../support/file-server.ts";
import "../support/leftovers.ts";
import { testService } from "../support/service.ts";
import { until } from "../support/until.ts";

test("the service runs on a platform of one's own: a job from its submission to its callback and its result", async () => {
  await using files = await fileServer();
  await using receiver = await callbackReceiver(answering(200));
  const storage = memoryStorage({
    get now() {
      return Date.now();
    },
  });
  const settings = { ...(await anyEngine()), reportEventBus: true, signCallbackInvocations: true };
  await using service = await testService(
    { ...settings, scannerStackName: "mine", allowHttpCallbacks: true },
    {},
    // #region start
    { openPlatform: async (_, __, { now }) => memoryPlatform({ storage, now, write() {} }, "mine") },
    // #endregion
  );
  const post = (path: string, body: object): Promise<Response> =>
    service.call(`/api/v1/scan/async/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });

  const file = { download_url: `${files.origin}/eicar`, trace_id: "mine" };
  assert.equal((await post("download", { ...file, callback_url: receiver.origin })).status, 204);
  await until("the callback has come", () => receiver.requests.length > 0, { limitMs: 60_000 });
  const { status, finding, trace_id } = JSON.parse(receiver.requests[0]?.body.toString() ?? "{}");
  assert.deepEqual([status, finding, trace_id], ["infected", "Eicar-Test-Signature", "mine"]);
  assert.equal(receiver.requests[0]?.values("x-signature").length, 1);
  assert.ok(createPublicKey(storage.parameters.get("/scanner/mine/PublicKeyPEMX509") ?? ""));

  assert.equal((await post("download", { ...file, trace_id: "polled" })).status, 201);
  const poll = (): Promise<Response> => service.call("/api/v1/scan/async/result?trace_id=polled");
  await until("there is a result", async () => (await poll()).status === 200, { limitMs: 60_000 });
  assert.equal(((await (await poll()).json()) as { status: string }).status, "infected");
  assert.equal(storage.events.length, 2);
  await until("both jobs are done", () => storage.model.entries().length === 0);

  const readiness = await fetch(`${service.url}/readyz?verbose`);
  assert.match(await readiness.text(), /0 jobs wait/);
});
