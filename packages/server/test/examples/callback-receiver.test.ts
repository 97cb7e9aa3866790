import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Lazaret } from "@lazaret/client";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { alone, examplesFolder, type StartedServer, startServer } from "./start-server.ts";

const folder = temporaryFolder();
const patience = { limitMs: 60_000 };
let files: FileServer;
let service: TestService;
let example: StartedServer;
let lazaret: Lazaret;
before(async () => {
  files = await fileServer();
  const settings = { engine: "P", clamd: "none", concurrency: 2, allowHttpCallbacks: true } as const;
  service = await testService({ ...settings, signCallbackInvocations: true });
  lazaret = new Lazaret({ baseUrl: service.url, apiKey: testKey });
  const program = new URL("callback-receiver/server.ts", examplesFolder);
  example = await startServer(program, { cwd: folder.path, env: { LAZARET_URL: service.url } });
});
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => files?.[Symbol.asyncDispose]());
atTheEnd(() => service?.[Symbol.asyncDispose]());
atTheEnd(() => example?.[Symbol.asyncDispose]());

const resultOf = (traceId: string): Promise<Response> =>
  fetch(`${example.origin}/results/${encodeURIComponent(traceId)}`, { headers: alone });

async function decided(traceId: string): Promise<unknown> {
  let found: unknown;
  const there = async (): Promise<boolean> => {
    const response = await resultOf(traceId);
    const answer = await response.json();
    if (response.status !== 200) return false;
    found = answer;
    return true;
  };
  await until(`the callback is there; it said ${example.said()}`, there, patience);
  return found;
}

test("files are kept when clean, and refused when infected or not scanned", async () => {
  const expected = {
    clean: { decision: "keep", status: "clean" },
    eicar: { decision: "refuse", status: "infected", finding: "EICAR_Test_File" },
    missing: { decision: "refuse", status: "no", finding: "scanner:download-failed" },
  };
  const callbackUrl = `${example.origin}/scanned`;
  for (const name of Object.keys(expected)) {
    await lazaret.async.download({ url: `${files.origin}/${name}`, callbackUrl, traceId: `../${name} 😀` });
  }
  for (const [name, decision] of Object.entries(expected)) {
    assert.deepEqual(await decided(`../${name} 😀`), decision);
  }
});

test("a callback that Lazaret has not signed is refused, and decides nothing", async () => {
  const forged = JSON.stringify({
    status: "clean",
    size: 1,
    download_time: "0.001",
    scan_time: "0.001",
    download_url: "https://files.example.com/x",
    trace_id: "forged",
  });
  const headers = { "X-Timestamp": String(Date.now()), "X-Signature": "00".repeat(384), ...alone };
  const answer = await fetch(`${example.origin}/scanned`, { method: "POST", body: forged, headers });
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /^bad_signature: /);
  assert.equal((await resultOf("forged")).status, 404);
});
