import assert from "node:assert/strict";
import { verify } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { ClientRequest } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, test } from "node:test";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { fileServer } from "../support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { runCli } from "../support/run-cli.ts";
import { selfSigned } from "../support/self-signed.ts";
import { metricIn, processesKey, threeOnAnyPort, threeProcesses } from "../support/three-processes.ts";
import { until } from "../support/until.ts";

let clamd: TestClamd;
before(async () => {
  clamd = await testClamd();
});
atTheEnd(() => clamd[Symbol.asyncDispose]());

const env = (): Record<string, string> => ({
  LAZARET_ENGINE: "Q",
  LAZARET_CLAMD: `unix:${clamd.socketPath}`,
  LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
  LAZARET_ALLOW_CALLBACK_NETWORKS: "127.0.0.0/8",
  LAZARET_ALLOW_HTTP_CALLBACKS: "true",
});
const identity = selfSigned("IP:127.0.0.1");
const bytes = { "Content-Type": "application/octet-stream" };
const json = { "Content-Type": "application/json" };

interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

interface Answer {
  status: number | undefined;
  body: string;
}

/** Over TLS, each on a connection of its own, so that each process has some. */
function asking(port: number): { ask(path: string, asked?: Asked): Promise<Answer>; open: typeof open } {
  function open(path: string, { method = "POST", headers = {} }: Asked = {}): ClientRequest {
    const all = { Authorization: `Bearer ${processesKey}`, ...headers };
    return request({ host: "127.0.0.1", port, path, method, headers: all, ca: identity.cert, agent: false });
  }
  return {
    open,
    ask(path, asked = {}) {
      const sent = open(path, { ...asked, method: asked.method ?? (asked.body === undefined ? "GET" : "POST") });
      const answer = answerOf(sent);
      sent.end(asked.body);
      return answer;
    },
  };
}

async function answerOf(sent: ClientRequest): Promise<Answer> {
  const [response] = await once(sent, "response");
  return { status: response.statusCode, body: await text(response) };
}

test("over TLS three processes scan uploads, call back, answer polls and count as one; a drain loses no upload", async () => {
  using folder = temporaryFolder();
  await using files = await fileServer();
  await using receiver = await callbackReceiver(answering(204));
  const [certPath, keyPath] = [join(folder.path, "cert.pem"), join(folder.path, "key.pem")];
  writeFileSync(certPath, identity.cert);
  writeFileSync(keyPath, identity.key, { mode: 0o600 });
  const tls = { LAZARET_TLS_CERT: certPath, LAZARET_TLS_KEY: keyPath, LAZARET_DRAIN_SECONDS: "4" };
  await using service = await threeProcesses(folder.path, { ...env(), ...tls });
  const { ask, open } = asking(service.port);
  const processesOf = (path: string): unknown[] =>
    service
      .lines("request")
      .filter((line) => line.path === path)
      .map((line) => line.process);

  // The same bytes over and over, at each process: as bytes, and as a form.
  const form = `--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${eicar()}\r\n--x--\r\n`;
  for (let count = 0; count < 6; count += 1) {
    assert.equal((await ask("/api/v1/scan/sync/binary", { headers: bytes, body: "hello" })).body, cleanOf(5));
    const headers = { "Content-Type": "multipart/form-data; boundary=x" };
    const infected = await ask("/api/v1/scan/sync/form", { headers, body: form });
    assert.match(infected.body, /"status":"infected"/);
  }
  await until("all have scanned", () => new Set(processesOf("/api/v1/scan/sync/binary")).size === 3);
  await until("what the verdict caches of all saw is counted", async () => {
    const { body } = await ask("/metrics");
    return (
      metricIn(body, "lazaret_verdict_cache_hits_total") + metricIn(body, "lazaret_verdict_cache_misses_total") === 12
    );
  });

  // Submitted at any process, run by any, signed with the one key, polled at any.
  const names = Array.from({ length: 6 }, (_, number) => `trace-${number}`);
  for (const [number, trace_id] of names.entries()) {
    const answerTo = number % 2 === 0 ? { callback_url: `${receiver.origin}/done` } : {};
    const body = JSON.stringify({ download_url: `${files.origin}/eicar`, trace_id, ...answerTo });
    const submitted = await ask("/api/v1/scan/async/download", { headers: json, body });
    assert.equal(submitted.status, number % 2 === 0 ? 204 : 201, submitted.body);
  }
  await until("all are called back", () => receiver.requests.length >= 3);
  const publicKey = (await ask("/.well-known/lazaret/callback-key.pem")).body;
  for (const { body, values } of receiver.requests) {
    const [signature = ""] = values("x-signature");
    const [stamp = ""] = values("x-timestamp");
    const signed = Buffer.from(`${stamp}.${receiver.origin}/done.${body}`);
    assert.ok(verify("sha256", signed, publicKey, Buffer.from(signature, "hex")));
    assert.match(String(body), /"status":"infected"/);
  }
  for (const name of names) {
    const poll = `/api/v1/scan/async/result?trace_id=${name}`;
    await until("the result is there", async () => (await ask(poll)).status === 200);
    const answers = new Set<string>();
    for (let count = 0; count < 4; count += 1) answers.add((await ask(poll)).body);
    assert.equal(answers.size, 1);
    assert.match([...answers].join(), /"status":"infected"/);
  }
  await until("all have polled", () => new Set(processesOf("/api/v1/scan/async/result")).size === 3);

  const halves = Array.from({ length: 6 }, () => {
    const upload = open("/api/v1/scan/sync/binary", { headers: { ...bytes, "Content-Length": "5" } });
    upload.write("he");
    const answer = answerOf(upload);
    answer.catch(() => {});
    return { upload, answer };
  });
  await Promise.all(
    halves.map(({ upload }) => once(upload, "socket").then(([socket]) => once(socket, "secureConnect"))),
  );
  assert.equal((await ask("/readyz")).status, 204);
  service.run.child.kill("SIGTERM");
  await service.run.says(/"event":"stopping","signal":"SIGTERM","drain_seconds":4/);
  await until("none is ready", async () => (await ask("/readyz")).status === 503);
  const late = await ask("/api/v1/scan/sync/binary", { headers: bytes, body: "hello" });
  assert.equal(late.body, cleanOf(5), "requests are taken while it drains");
  for (const { upload } of halves) upload.end("llo");
  for (const { answer } of halves) assert.deepEqual(await answer, { status: 200, body: cleanOf(5) });
  assert.equal(await service.run.ended(), 0);
  assert.equal(service.lines("stopped").length, 1);
  assert.equal(service.run.stderr, "");
});

test("three worker processes run the jobs that an api process takes, and have no API", async () => {
  using folder = temporaryFolder();
  await using files = await fileServer();
  const shared = { ...env(), LAZARET_DATA_DIR: join(folder.path, "data") };
  const single = { ...threeOnAnyPort, ...shared, LAZARET_PROCESSES: "1", LAZARET_ROLE: "api" };
  await using api = runCli(["serve"], { cwd: folder.path, env: single });
  const [, port] = await api.says(/"event":"listening".*"port":(\d+)/);
  const headers = { Authorization: `Bearer ${processesKey}`, ...json };
  for (let count = 0; count < 12; count += 1) {
    const submitted = await fetch(`http://127.0.0.1:${port}/api/v1/scan/async/download`, {
      method: "POST",
      headers,
      body: JSON.stringify({ download_url: `${files.origin}/clean`, trace_id: `trace-${count}` }),
    });
    assert.equal(submitted.status, 201);
  }
  await using workers = await threeProcesses(folder.path, { ...shared, LAZARET_ROLE: "worker", LAZARET_WORKERS: "3" });
  const jobs = (): unknown[] => workers.lines("job").map((line) => line.settlement);
  await until("all jobs are done", () => jobs().length === 12);
  assert.deepEqual(jobs(), Array(12).fill("done"));
  assert.equal((await workers.scan()).status, 404);
  assert.equal(await workers.run.stop(), 0);
  assert.equal(await api.stop(), 0);
});

function cleanOf(size: number): string {
  return JSON.stringify({ status: "clean", size });
}
