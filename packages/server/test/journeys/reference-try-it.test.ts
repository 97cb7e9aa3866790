import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Browser, Locator, Page } from "playwright-core";
import { startBrowser, watchedPage } from "../support/browser.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testKey, testService } from "../support/service.ts";

const adminKey = "admin-key-of-the-tests";
let clamd: TestClamd;
let service: TestService;
let browser: Browser;
before(async () => {
  clamd = await testClamd();
  service = await testService({
    clamd: `unix:${clamd.socketPath}`,
    signCallbackInvocations: true,
    adminKeys: [adminKey],
  });
  browser = await startBrowser();
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());
atTheEnd(() => browser.close());

const binaryId = "#api-v1-scan-sync-binary";
const root = fileURLToPath(new URL("../../../..", import.meta.url));

/** What is seen and done at one endpoint. */
async function tryIt(page: Page, id: string, key: string | undefined): Promise<Locator> {
  const entry = page.locator(id);
  await entry.locator(".try > summary").click();
  if (key !== undefined) await entry.getByLabel("API key").fill(key);
  return entry;
}

async function sent(entry: Locator, status: RegExp): Promise<string> {
  await entry.getByRole("button", { name: "Send" }).click();
  const line = entry.getByRole("status").filter({ hasText: status });
  await line.waitFor();
  return textOf(entry.locator(".answer"));
}

test("try it at /docs scans a file, shows what came back, and the command that it shows does the same", async () => {
  await using watched = await watchedPage(browser);
  using place = temporaryFolder();
  const { page, requests, complaints } = watched;
  await page.goto(`${service.url}/docs`);
  const name = "it's $(a) test.txt";
  writeFileSync(join(place.path, name), eicar());
  for (const id of [binaryId, "#api-v1-scan-sync-form"]) {
    const entry = await tryIt(page, id, id === binaryId ? testKey : undefined);
    await entry.getByLabel("File").setInputFiles({ name, mimeType: "text/plain", buffer: eicar() });
    const answer = await sent(entry, /^200 OK/);
    assert.match(answer, /"status": "infected"/);
    assert.match(answer, /content-typeapplication\/json/);
    const command = await textOf(entry.locator(".answer pre").last());
    assert.doesNotMatch(await page.content(), new RegExp(testKey));
    const { stdout } = await shell(command, place.path);
    const body = JSON.parse(await textOf(entry.locator(".answer pre").first()));
    assert.deepEqual(JSON.parse(stdout), body);
    assert.equal(body.status, "infected");
  }
  assert.deepEqual(await page.evaluate("[{ ...sessionStorage }, { ...localStorage }, document.cookie]"), [{}, {}, ""]);
  assert.deepEqual(
    requests.filter((url) => !url.startsWith(service.publicUrl)),
    [],
  );
  assert.deepEqual(complaints, []);
});

test("try it at /docs sends fields and parameters as the document has them, and shows an error's hint", async () => {
  await using watched = await watchedPage(browser);
  using place = temporaryFolder();
  const { page } = watched;
  await page.goto(`${service.url}/docs#api-v1-scan-async-objstore`);
  const submit = await tryIt(page, "#api-v1-scan-async-objstore", testKey);
  await submit.getByLabel("bucket").fill("up'loads");
  await submit
    .getByLabel("key", { exact: true })
    .or(submit.getByLabel("key required", { exact: true }))
    .first()
    .fill("a");
  await submit.getByLabel("trace_id").fill("trace of the page");
  const refused = await sent(submit, /^\d{3} /);
  const command = await textOf(submit.locator(".answer pre").last());
  assert.match(command, /--data-raw '\{"bucket":"up'\\''loads","key":"a","trace_id":"trace of the page"\}'/);
  const { stdout } = await shell(command, place.path);
  const { request_id: _, ...again } = JSON.parse(stdout);
  for (const value of Object.values(again)) assert.ok(refused.includes(String(value)), `${value}: ${refused}`);

  const poll = await tryIt(page, "#api-v1-scan-async-result", undefined);
  await poll.getByLabel("trace_id").fill("a&b=ä");
  assert.match(await sent(poll, /^404 /), /"hint": "the scan is not finished/);
  assert.match(await textOf(poll.locator(".answer pre").last()), /\?trace_id=a%26b%3D%C3%A4'$/);

  const wrong = await tryIt(page, binaryId, "not-the-right-key");
  await wrong.getByRole("button", { name: "EICAR" }).click();
  const answer = await sent(wrong, /^401 Unauthorized/);
  assert.match(answer, /"code": "invalid_api_key"/);
  assert.match(answer, /"hint": "send the header Authorization/);

  const open = page.locator("#version");
  await open.locator(".try > summary").click();
  await open.getByRole("button", { name: "Send" }).waitFor();
  assert.equal(await open.getByLabel("API key").count(), 0);
  assert.match(await sent(open, /^200 OK/), /"features": \[/);
});

test("try it at /docs has a key of its own for the console, and no session of a browser goes along", async () => {
  await using watched = await watchedPage(browser);
  using place = temporaryFolder();
  const { page } = watched;
  await page.request.post(`${service.url}/admin/v1/login`, { data: { key: adminKey } });
  const cookies = await page.context().cookies();
  assert.equal(cookies.length, 1);
  await page.goto(`${service.url}/docs#admin-v1-session`);
  const entry = await tryIt(page, "#admin-v1-session", undefined);
  assert.match(await sent(entry, /^401 /), /"code": "not_logged_in"/);
  await entry.getByLabel("Key of the console").fill(adminKey);
  assert.match(await sent(entry, /^200 /), /"role": "admin"/);
  const { stdout } = await shell(await textOf(entry.locator(".answer pre").last()), place.path);
  assert.equal(JSON.parse(stdout).role, "admin");
  const other = await tryIt(page, "#api-v1-test", undefined);
  await other.getByRole("button", { name: "Send" }).waitFor();
  assert.equal(await other.getByLabel("API key").inputValue(), "");
});

test("what an answer says is text at /docs, whatever it is, and no answer at all is said in words", async () => {
  await using watched = await watchedPage(browser);
  const { page, complaints } = watched;
  await page.goto(`${service.url}/docs`);
  const hostile = { status: "no", finding: "<img src=x onerror=alert(1)>\u202etxt.exe" };
  await page.route("**/api/v1/scan/sync/binary", (route) => route.fulfill({ json: hostile }));
  const entry = await tryIt(page, binaryId, testKey);
  await entry.getByRole("button", { name: "EICAR" }).click();
  const answer = await sent(entry, /^200 /);
  assert.ok(answer.includes("<img src=x onerror=alert(1)>\\u202etxt.exe"), answer);
  assert.equal(await entry.locator("img").count(), 0);
  assert.deepEqual(complaints, []);
  await page.unroute("**/api/v1/scan/sync/binary");
  await page.route("**/api/v1/scan/sync/binary", (route) => route.abort());
  assert.match(await sent(entry, /^No answer/), /cannot be reached/);
});

test("the page at /docs works under a path of a proxy, with its script, its commands and try it", async () => {
  const { port } = new URL(service.url);
  const proxy = createServer((incoming, outgoing) => {
    const { method, headers, url = "" } = incoming;
    const path = url.replace(/^\/scanner/, "");
    incoming.pipe(
      forward({ host: "127.0.0.1", port, method, headers, path }, (answer) => {
        outgoing.writeHead(url.startsWith("/scanner/") ? (answer.statusCode ?? 500) : 418, answer.headers);
        answer.pipe(outgoing);
      }),
    );
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/scanner`;
  try {
    await using watched = await watchedPage(browser);
    const { page, complaints } = watched;
    await page.goto(`${base}/docs`);
    assert.equal(await textOf(page.locator("pre").first()), `export LAZARET_URL=${base} LAZARET_API_KEY=your-api-key`);
    const entry = await tryIt(page, "#api-v1-test", testKey);
    await sent(entry, /^204 /);
    assert.deepEqual(complaints, []);
  } finally {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  }
});

test("the programs at /docs run as they stand", async () => {
  await using watched = await watchedPage(browser);
  using place = temporaryFolder();
  symlinkSync(join(root, "node_modules"), join(place.path, "node_modules"));
  const { page } = watched;
  await page.goto(`${service.url}/docs`);
  writeFileSync(join(place.path, "report.pdf"), "a report");
  for (const [id, expected] of [
    [binaryId, "clean"],
    ["#api-v1-scan-sync-form", "clean"],
    ["#api-v1-test", "204"],
    ["#healthz", "204"],
  ] as const) {
    const calls = page.locator(`${id} details[name$="-call"]`);
    for (const program of await calls.all()) {
      const [name, text] = [await textOf(program.locator("summary")), await textOf(program.locator("pre"))];
      if (name === "curl") {
        assert.match((await shell(text, place.path)).stdout, new RegExp(expected), id);
        continue;
      }
      writeFileSync(join(place.path, "program.mjs"), text);
      const { stdout } = await shell("node program.mjs", place.path);
      assert.match(stdout, name === "fetch" ? new RegExp(expected) : /clean|^$/, `${id} ${name}`);
    }
  }
});

async function textOf(part: Locator): Promise<string> {
  return (await part.textContent()) ?? "";
}

async function shell(command: string, cwd: string): Promise<{ stdout: string }> {
  const path = `${join(root, "node_modules/.bin")}:${process.env.PATH}`;
  return promisify(execFile)("sh", ["-c", command], {
    cwd,
    env: { PATH: path, LAZARET_API_KEY: testKey, ADMIN_KEY: adminKey },
  });
}
