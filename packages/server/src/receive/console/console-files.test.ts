import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { rawHttp } from "../../../test/support/raw-http.ts";
import { log } from "../../log.ts";
import { startHttpServer } from "../http/http-server.ts";
import { type Problem, problemAnswer } from "../problem.ts";
import type { Answer } from "../request-answer.ts";
import { consoleFiles, consoleFilesEndpoint } from "./console-files.ts";

const index = '<!doctype html><script type="module" src="./assets/index-Ab3_dE-9.js"></script>';
const script = `console.log(${JSON.stringify("x".repeat(2000))});`;

function build(folder: string): void {
  mkdirSync(join(folder, "dist/assets"), { recursive: true });
  writeFileSync(join(folder, "dist/index.html"), index);
  writeFileSync(join(folder, "dist/assets/index-Ab3_dE-9.js"), script);
  writeFileSync(join(folder, "dist/icon.svg"), "<svg/>");
  writeFileSync(join(folder, "secret.txt"), "the-secret");
}

interface Served extends AsyncDisposable {
  port: number;
  url: string;
  open: boolean;
  said: string[];
}

async function served(folder: string): Promise<Served> {
  const said: string[] = [];
  const logger = log({ level: "error", format: "json", write: (line) => said.push(line) });
  const state = { open: true };
  const handle = consoleFiles({ folder: join(folder, "dist"), isOpen: () => state.open, log: logger });
  const server = await startHttpServer({
    host: "127.0.0.1",
    port: 0,
    log: logger,
    async handle(request): Promise<Answer> {
      const answer = await handle(request, {} as never).catch((error: Problem) => problemAnswer(error, request.id));
      return { ...answer, headers: { ...consoleFilesEndpoint.headers, ...answer.headers } };
    },
  });
  return Object.assign(state, {
    port: server.port,
    url: `http://127.0.0.1:${server.port}`,
    said,
    [Symbol.asyncDispose]: () => server.close(0),
  });
}

test("a file is sent compressed or not, once, with a tag; what has a hash in its name is kept for ever", async () => {
  using folder = temporaryFolder();
  build(folder.path);
  await using console = await served(folder.path);
  const page = await fetch(`${console.url}/console/`);
  assert.equal(await page.text(), index);
  assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  assert.equal(page.headers.get("cache-control"), "no-cache");
  const again = { headers: { "If-None-Match": `"other", W/${page.headers.get("etag")}` } };
  const same = await fetch(`${console.url}/console/`, again);
  assert.equal(same.status, 304);
  assert.equal(await same.text(), "");

  const path = "/console/assets/index-Ab3_dE-9.js";
  const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
  const plain = await rawHttp(console.port, [`${head}\r\n`]);
  assert.equal(plain.body, script);
  assert.equal(plain.headers["cache-control"], "public, max-age=31536000, immutable");
  assert.equal(plain.headers["content-type"], "text/javascript; charset=utf-8");
  const refused = await rawHttp(console.port, [`${head}Accept-Encoding: br, gzip;q=0\r\n\r\n`]);
  assert.equal(refused.headers["content-encoding"], undefined);
  const zipped = await fetch(`${console.url}${path}`, { headers: { "Accept-Encoding": "gzip" } });
  assert.equal(zipped.headers.get("content-encoding"), "gzip");
  assert.equal(await zipped.text(), script);
  assert.ok(Number(zipped.headers.get("content-length")) < script.length / 10);
});

test("no path leads out of the folder, and none is answered without the headers that keep strangers out", async () => {
  using folder = temporaryFolder();
  build(folder.path);
  await using console = await served(folder.path);
  const paths = [
    "/console/../secret.txt",
    "/console/..%2fsecret.txt",
    "/console/%2e%2e/secret.txt",
    "/console/assets/../../secret.txt",
    "/console//../secret.txt",
    "/console/..\\secret.txt",
    "/console/secret.txt%00.html",
    "/console/missing.js",
    "/console/__proto__",
    "/console/constructor",
    "/console/icon.svg",
    "/console/",
    "/console/jobs/7",
    "/console",
  ];
  for (const path of paths) {
    const answer = await rawHttp(console.port, [`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`]);
    assert.ok(!answer.body.includes("the-secret"), path);
    assert.ok([200, 308, 404].includes(answer.status), `${path}: ${answer.status}`);
    const policy = answer.headers["content-security-policy"] ?? "";
    for (const part of ["default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"])
      assert.ok(policy.includes(part), `${path}: ${policy}`);
    assert.ok(!policy.includes("unsafe"), policy);
    assert.equal(answer.headers["x-content-type-options"], "nosniff");
    assert.equal(answer.headers["referrer-policy"], "no-referrer");
    assert.equal(answer.headers["cross-origin-opener-policy"], "same-origin");
  }
  const moved = await fetch(`${console.url}/console`, { redirect: "manual" });
  assert.equal(moved.headers.get("location"), "console/");
});

test("what is not built, or has no key yet, says what to do, and works as soon as that is done", async () => {
  using folder = temporaryFolder();
  await using console = await served(folder.path);
  const missing = await fetch(`${console.url}/console/`);
  assert.equal(missing.status, 503);
  assert.match(await missing.text(), /npx vite build packages\/console/);
  assert.match(console.said.join(""), /"event":"console","error":"the console is not built"/);
  build(folder.path);
  assert.equal(await (await fetch(`${console.url}/console/`)).text(), index);
  console.open = false;
  const closed = await fetch(`${console.url}/console/`);
  assert.equal(closed.status, 503);
  assert.match(await closed.text(), /lazaret keys create --name ops --scope admin[\s\S]*LAZARET_ADMIN_KEYS/);
});
