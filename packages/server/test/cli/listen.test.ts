import assert from "node:assert/strict";
import { test } from "node:test";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type CliOptions, type CliOutcome, type CliRun, cliOutcome, runCli } from "../support/run-cli.ts";
import { testKey, testService } from "../support/service.ts";
import { signingService } from "./signing-service.ts";

const folder = temporaryFolder();
atTheEnd(() => folder[Symbol.dispose]());
const { clamd, files, service } = await signingService(folder.path);

function options(): CliOptions {
  return { cwd: folder.path, env: { LAZARET_URL: service.url, LAZARET_API_KEY: testKey } };
}

function lazaret(...args: string[]): Promise<CliOutcome> {
  return cliOutcome(args, options());
}

function lazaretListen(...args: string[]): CliRun {
  return runCli(["listen", "--port", "0", ...args], options());
}

async function listening(run: CliRun): Promise<string> {
  const [, url = ""] = await run.says(/listening on (\S+),/);
  return url;
}

test("listen shows the callbacks of jobs, and those of trigger, and tells whether they are authentic", async () => {
  await using listen = lazaretListen();
  const url = await listening(listen);

  await lazaret("submit", `${files.origin}/eicar`, "--trace-id", "order-4711", "--callback-url", `${url}/a?b=c`);
  await listen.says(/authentic {2}infected {2}order-4711 {2}Eicar-Test-Signature {2}→ 204/);
  // A callback_url with no path is signed as it was submitted, and requested as "/".
  await lazaret("submit", `${files.origin}/clean`, "--trace-id", "order-4712", "--callback-url", url);
  await listen.says(/authentic {2}clean {5}order-4712 {2}→ 204/);

  const taken = await lazaret("trigger", "no", "--to", `${url}/hook`, "--data-dir", folder.path);
  assert.deepEqual([taken.code, taken.out], [0, "204\n"], taken.err);
  await listen.says(/authentic {2}no {8}sample {2}scanner:download-failed {2}→ 204/);

  // A key of somebody else's.
  using other = temporaryFolder();
  await lazaret("keys", "rotate", "--data-dir", other.path);
  const refused = await lazaret("trigger", "clean", "--to", `${url}/hook`, "--data-dir", other.path);
  assert.equal(refused.code, 4);
  assert.match(refused.out, /^400 {2}bad_signature: /);
  assert.match(refused.err, /the receiver answered 400/);
  await listen.says(/refused {4}bad_signature: .* → 400/);
  assert.equal(await listen.stop(), 0, listen.stderr);
});

test("listen hands callbacks on with the same bytes and headers, and answers what the receiver answers", async () => {
  await using receiver = await callbackReceiver(answering(503, { Connection: "close" }));
  await using listen = lazaretListen("--json", "--forward-to", `${receiver.origin}/mine`);
  const url = await listening(listen);
  const sample = ["trigger", "infected", "--to", `${url}/x`, "--custom-data", "größe", "--data-dir", folder.path];
  const { code } = await lazaret(...sample);
  assert.equal(code, 4);
  await listen.says(/"answered":503/);
  const { time, delivery_id: id, ...told } = JSON.parse(listen.stdout) as Record<string, unknown>;
  assert.deepEqual(told, {
    authentic: true,
    status: "infected",
    finding: "EICAR_Test_File",
    size: 68,
    download_time: "0.214",
    scan_time: "0.030",
    download_url: "https://files.example.com/sample.txt",
    trace_id: "sample",
    custom_data: "größe",
    attempt: 1,
    answered: 503,
  });
  const [request] = receiver.requests;
  assert.equal(request?.requestLine, "POST /mine HTTP/1.1");
  assert.deepEqual(
    [request?.values("x-delivery-id"), JSON.parse(request?.body.toString() ?? "").custom_data],
    [[id], "größe"],
  );
  assert.match(request?.values("x-signature")[0] ?? "", /^[0-9a-f]{512}$/);
  assert.ok(Date.parse(String(time)) > 0);
  assert.equal(await listen.stop("SIGINT"), 0, listen.stderr);
});

test("listen says when it cannot verify: no server, or one that does not sign", async () => {
  const gone = await lazaret("listen", "--port", "0", "--url", "http://127.0.0.1:1");
  assert.equal(gone.code, 3);
  assert.match(gone.err, /^lazaret: cannot fetch the public key from http:\/\/127\.0\.0\.1:1\/.*\nhint: /);

  await using unsigned = await testService({ clamd: `unix:${clamd.socketPath}` });
  await using listen = lazaretListen("--url", unsigned.url, "--count", "1");
  await fetch(await listening(listen), { method: "POST", body: '{"status":"clean"}' });
  assert.equal(await listen.ended(), 0, listen.stderr);
  assert.match(listen.stderr, /^lazaret: this server does not sign callbacks/);
  assert.match(listen.stdout, /unsigned {3}\{"status":"clean"\} {2}→ 204\n$/);
});
