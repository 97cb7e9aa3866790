import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { before, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { startBrowser, watchedPage } from "../support/browser.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";

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

interface Operation {
  "x-alias-of"?: string;
  summary: string;
  deprecated?: boolean;
  responses: Record<string, { description: string }>;
}

/** Every operation of the document. */
async function operations(): Promise<{ method: string; path: string; operation: Operation }[]> {
  const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
}

const consolePackage = new URL("../../../console/package.json", import.meta.url);
const axe = readFileSync(createRequire(consolePackage).resolve("axe-core/axe.min.js"), "utf8");
const folder = new URL("../../src/receive/reference/page/", import.meta.url);

test("without JavaScript the page at /docs shows every endpoint of the document, its other names and what may go wrong", async () => {
  await using watched = await watchedPage(browser, { javaScriptEnabled: false });
  const { page, requests, complaints } = watched;
  await page.goto(`${service.url}/docs`);
  assert.match(await page.title(), /Lazaret/);
  const all = await operations();
  const own = all.filter(({ operation }) => !operation["x-alias-of"]);
  assert.ok(own.length > 15, `only ${own.length} endpoints`);
  assert.equal(await page.locator("article").count(), own.length);
  for (const { method, path, operation } of own) {
    const entry = page.locator(`article[data-method="${method}"][data-path="${path}"]`);
    assert.equal(await entry.count(), 1, path);
    const text = (await entry.textContent()) ?? "";
    assert.ok(text.includes(operation.summary), path);
    assert.equal(/deprecated/.test(text), operation.deprecated === true, path);
    const aliases = await entry.locator(".aliases li").allTextContents();
    const expected = all.filter((each) => each.operation["x-alias-of"] === path && each.method === method);
    assert.deepEqual(
      aliases,
      expected.map((each) => each.path),
    );
    for (const [status, { description }] of Object.entries(operation.responses)) {
      assert.ok(text.includes(status), `${path} ${status}`);
      for (const code of description.match(/(?<=^`code`: ).*/)?.[0].split(", ") ?? []) {
        const meaning = entry.locator(`dt:has(code:text-is("${code}")) + dd`).first();
        assert.match((await meaning.textContent()) ?? "", /\w{2}/, `error-meanings.ts says nothing of ${code}`);
      }
    }
    const link = page.getByRole("link", { name: `${method.toUpperCase()} ${path}`, exact: true, includeHidden: true });
    assert.equal(await link.count(), 1, path);
  }
  await page.getByRole("link", { name: "POST /api/v1/scan/sync/download" }).click();
  assert.match(page.url(), /#api-v1-scan-sync-download$/);
  const cell = page.locator("#api-v1-scan-sync-download").getByRole("cell", { name: "download_headers" });
  assert.ok(await cell.isVisible());
  assert.deepEqual(
    requests.filter((url) => !url.startsWith(service.publicUrl)),
    [],
  );
  assert.deepEqual(complaints, []);
});

test("a search at /docs narrows what is shown, by path, other name, word and code, and / leads to it", async () => {
  await using watched = await watchedPage(browser);
  const { page, complaints } = watched;
  await page.goto(`${service.url}/docs`);
  const shown = (): Promise<string[]> =>
    page.locator("article:visible").evaluateAll((all) => all.map((each) => each.getAttribute("data-path") ?? ""));
  const everything = await shown();
  await page.keyboard.press("/");
  assert.equal(await page.evaluate("document.activeElement.id"), "search");
  const objects = ["/api/v1/scan/async/objstore", "/api/v1/scan/sync/objstore"];
  for (const [words, expected] of [
    ["/v1/scan/sync/s3", ["/api/v1/scan/sync/objstore"]],
    ["objstore", objects],
    ["invalid_object bucket", objects],
    ["Poll for the", ["/api/v1/scan/async/result"]],
    ["no such thing", []],
  ] as const) {
    await page.locator("#search").fill(words);
    assert.deepEqual(await shown(), expected, words);
    const said = await page.locator(".search").getByRole("status").textContent();
    assert.equal(said, `${expected.length} of ${await page.locator("article").count()} endpoints`);
    const links = page.locator("nav li:visible a[href^='#api']");
    assert.equal(await links.count(), expected.length, words);
  }
  await page.keyboard.press("Escape");
  assert.deepEqual(await shown(), everything);
  await page.locator("#search").fill("invalid_object");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/docs#api-v1-scan-async-objstore");
  await page.evaluate("location.hash = 'healthz'");
  await page.locator("#healthz").waitFor({ state: "visible" });
  assert.deepEqual(await shown(), everything);
  assert.deepEqual(complaints, []);
});

test("calls of the console come last at /docs, folded until a link or a search leads to them", async () => {
  await using watched = await watchedPage(browser);
  const { page, complaints } = watched;
  await page.goto(`${service.url}/docs`);
  const entry = page.locator("#admin-v1-session");
  const groups = await page.locator("main h2").allTextContents();
  assert.deepEqual(groups.slice(-3), ["Console", "Findings with status no", "Errors"]);
  assert.equal(await entry.isVisible(), false);
  await page.locator("#search").fill("admin session");
  await entry.waitFor({ state: "visible" });
  await page.locator("#search").fill("");
  assert.equal(await entry.isVisible(), false);
  await page.goto("about:blank");
  await page.goto(`${service.url}/docs#admin-v1-session`);
  await entry.waitFor({ state: "visible" });
  assert.deepEqual(complaints, []);
});

test("the page at /docs is readable on a phone and in both colours, and its script and style are small", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    await using watched = await watchedPage(browser, { colorScheme, viewport: { width: 375, height: 700 } });
    const { page, complaints } = watched;
    await page.goto(`${service.url}/docs`);
    await page.evaluate("for (const each of document.querySelectorAll('main details')) each.removeAttribute('name')");
    await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 375);
    const dark = (): Promise<boolean> =>
      page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] < 128");
    assert.equal(await dark(), colorScheme === "dark");
    await page.getByRole("button", { name: "colours" }).click();
    assert.equal(await dark(), colorScheme !== "dark");
    await page.reload();
    assert.equal(await dark(), colorScheme !== "dark");
    assert.deepEqual(complaints, []);
  }
  const files = readdirSync(folder).filter((name) => /\.(?:js|css)$/.test(name));
  const bytes = files.map((name) => gzipSync(readFileSync(new URL(name, folder))).length);
  assert.ok(bytes.length > 3);
  assert.ok(bytes.reduce((sum, each) => sum + each) < 25_000, String(bytes));
});

const KINDS = "#api-v1-scan-async-objstore, #api-v1-scan-sync-form, #version, #admin-v1-login";

test("axe finds nothing wrong with the page at /docs, with everything open, in both colours", async () => {
  for (const [colorScheme, width] of [
    ["light", 1400],
    ["dark", 375],
  ] as const) {
    // The page's own policy lets no other script in.
    const viewport = { width, height: 800 };
    await using watched = await watchedPage(browser, { colorScheme, viewport, bypassCSP: true });
    const { page } = watched;
    await page.goto(`${service.url}/docs#admin-v1-session`);
    // One of each kind: all of them take axe a minute.
    await page.evaluate(`for (const each of document.querySelectorAll("article:not(${KINDS})")) each.remove()`);
    await page.evaluate("for (const each of document.querySelectorAll('main details')) each.removeAttribute('name')");
    await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
    await page.locator("article").getByRole("button", { name: "Send" }).nth(3).waitFor();
    await page.evaluate(axe);
    const found = await page.evaluate(
      "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))",
    );
    assert.deepEqual(found, []);
  }
});

test("the page at /docs says what it may load, and its files are kept by browsers under a name of their own", async () => {
  const answer = await fetch(`${service.url}/docs`);
  const policy = answer.headers.get("content-security-policy") ?? "";
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; /);
  assert.match(policy, /frame-ancestors 'none'; form-action 'none'/);
  const html = await answer.text();
  assert.doesNotMatch(html, /<script>|<style|\sstyle="|\son\w+="/);
  const [, script = ""] = /src="([^"]+)"/.exec(html) ?? [];
  assert.match(script, /^docs\/[0-9a-f]{16}\/reference\.js$/);
  const file = await fetch(`${service.url}/${script}`);
  assert.equal(file.headers.get("content-type"), "text/javascript; charset=utf-8");
  assert.match(file.headers.get("cache-control") ?? "", /immutable/);
  for (const path of ["docs/", "docs/0/reference.js", script.replace("reference.js", "tsconfig.json")]) {
    assert.equal((await fetch(`${service.url}/${path}`)).status, 404, path);
  }
});

test("the commands at /docs have the address that the page is read at, and take none from a header", async () => {
  await using watched = await watchedPage(browser);
  const { page } = watched;
  const { port } = new URL(service.url);
  for (const origin of [service.url, `http://localhost:${port}`]) {
    await page.goto(`${origin}/docs`);
    const commands = await page.locator("pre").allTextContents();
    assert.equal(commands[0], `export LAZARET_URL=${origin} LAZARET_API_KEY=your-api-key`);
    assert.ok(commands.includes(`curl -i '${origin}/readyz?verbose'`), commands.join("\n"));
    assert.deepEqual(
      commands.filter((command) => command.includes("$LAZARET_URL")),
      [],
    );
  }
  for (const entry of await page.locator("article").all()) {
    const path = (await entry.getAttribute("data-path")) ?? "";
    const command = (await entry.locator("pre").first().textContent()) ?? "";
    assert.ok(command.includes(`://localhost:${port}${path.replace(/\{.*/, "")}`), `${path}: ${command}`);
  }
  await page.setExtraHTTPHeaders({ "X-Forwarded-Host": "evil.example", Forwarded: "host=evil.example" });
  await page.goto(`${service.url}/docs`);
  assert.doesNotMatch(await page.content(), /evil/);
});

test("a host that a shell would not take as it is does not get into the commands at /docs", async () => {
  const other = await startBrowser("--host-resolver-rules=MAP *.example 127.0.0.1");
  try {
    const page = await other.newPage();
    await page.goto(`http://a$(id)\`b.example:${new URL(service.url).port}/docs`);
    assert.match(page.url(), /\$\(id\)/);
    const commands = await page.locator("pre").allTextContents();
    assert.match(commands[0] ?? "", /^export LAZARET_URL=http:\/\/127\.0\.0\.1:8040 /);
    assert.ok(commands.includes("curl $LAZARET_URL/version"));
    assert.doesNotMatch(await page.content(), /\(id\)/);
  } finally {
    await other.close();
  }
});
