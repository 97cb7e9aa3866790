import assert from "node:assert/strict";
import { before, test } from "node:test";
import { syncDownloadSchema } from "@lazaret/contract";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { type Browser, chromium } from "playwright-core";
import { checkBody } from "../../src/receive/body/json-body.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";

let clamd: TestClamd;
let service: TestService;
before(async () => {
  clamd = await testClamd();
  service = await testService({ clamd: `unix:${clamd.socketPath}`, signCallbackInvocations: true });
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

interface OpenApi {
  openapi: string;
  paths: Record<
    string,
    Record<string, { operationId: string; deprecated?: boolean; "x-alias-of"?: string; responses: object }>
  >;
  components: { schemas: Record<string, object> };
}
const document = async (): Promise<OpenApi> => (await fetch(`${service.url}/openapi.json`)).json() as Promise<OpenApi>;

test("the OpenAPI document is 3.1 and names every endpoint of the spec that is here, under /api/v1", async () => {
  const { openapi, paths } = await document();
  assert.equal(openapi, "3.1.0");
  for (const path of ["sync/download", "sync/binary", "sync/form"]) {
    assert.equal(paths[`/api/v1/scan/${path}`]?.post?.deprecated, true, path);
  }
  assert.ok(paths["/api/v1/test"]?.get);
  const ids = Object.values(paths).flatMap((operations) => Object.values(operations).map((each) => each.operationId));
  assert.equal(new Set(ids).size, ids.length);
});

test("every path and method of the document is answered by the server, and by no other method", async () => {
  const { paths } = await document();
  for (const [path, operations] of Object.entries(paths)) {
    for (const method of ["get", "post"]) {
      const { status } = await service.call(path, { method: method.toUpperCase() });
      assert.equal(status !== 405 && status !== 404, method in operations, `${method} ${path} → ${status}`);
    }
  }
});

test("a request body is accepted by the document's schema exactly when the server's own check accepts it", async () => {
  const { components } = await document();
  const ajv = new Ajv2020({ strict: false, formats: { uri: true } });
  const validate = ajv.compile(components.schemas.SyncDownloadRequest ?? {});
  const field = fc.oneof(
    fc.string(),
    fc.string({ minLength: 2040, maxLength: 2056 }),
    fc.jsonValue(),
    fc.constant("💾".repeat(2048)),
  );
  const headers = fc.oneof(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.nat())), fc.jsonValue());
  const body = fc.record(
    { download_url: field, download_headers: headers, other: fc.jsonValue() },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(body, (candidate) => {
      let accepted = true;
      try {
        checkBody(candidate, syncDownloadSchema);
      } catch {
        accepted = false;
      }
      assert.equal(accepted, validate(candidate));
    }),
    { numRuns: 500 },
  );
});

test("real answers match the schemas of the document", async () => {
  const { components } = await document();
  const ajv = new Ajv2020({ strict: false });
  const result = ajv.compile({ ...components.schemas.ScanResult, additionalProperties: false });
  const error = ajv.compile({ ...components.schemas.Error, additionalProperties: false });
  assert.ok(result(await (await service.scan("x")).json()));
  assert.ok(error(await (await fetch(`${service.url}/api/v1/test`)).json()));
});

test("the document says which paths are other names, and of which", async () => {
  const { paths } = await document();
  const aliases = Object.entries(paths).flatMap(([path, operations]) =>
    Object.values(operations).map((each) => [path, each["x-alias-of"]]),
  );
  const others = aliases.filter(([, aliasOf]) => aliasOf !== undefined);
  assert.equal(others.length, 12);
  for (const [path = "", aliasOf = ""] of others) {
    assert.equal(path.replace(/^\/v1\//, "/api/v1/").replace(/\/s3$/, "/objstore"), aliasOf);
    assert.ok(aliasOf in paths, aliasOf);
  }
});

test("the page at /docs shows every endpoint in a browser, loads nothing else and breaks no rule of its own", async () => {
  const { paths } = await document();
  const browser = await started();
  try {
    const page = await browser.newPage();
    const requests: string[] = [];
    const complaints: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(`${service.url}/docs`);
    assert.match(await page.title(), /Lazaret/);
    for (const [path, operations] of Object.entries(paths)) {
      const [[method = "", operation] = []] = Object.entries(operations);
      const links = page.getByRole("link", { name: `${method.toUpperCase()} ${path}`, exact: true });
      assert.equal(await links.count(), operation?.["x-alias-of"] ? 0 : 1, path);
      if (!operation?.["x-alias-of"]) assert.ok(await links.isVisible(), path);
    }
    assert.match((await page.locator("main").textContent()) ?? "", /is also there with \/v1, and objstore as\s+s3/);
    await page.getByRole("link", { name: "POST /api/v1/scan/sync/download" }).click();
    assert.match(page.url(), /#api-v1-scan-sync-download$/);
    const section = page.locator("#api-v1-scan-sync-download");
    assert.ok(await section.getByRole("cell", { name: "download_headers", exact: true }).isVisible());
    assert.deepEqual(
      requests.filter((url) => !url.endsWith("/docs") && !url.endsWith("/favicon.ico")),
      [],
    );
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
  }
});

test("the commands at /docs have the address that the page is read at, and take none from a header", async () => {
  const browser = await started();
  try {
    const page = await browser.newPage();
    const { port } = new URL(service.url);
    for (const origin of [service.url, `http://localhost:${port}`]) {
      await page.goto(`${origin}/docs`);
      const commands = await page.locator("pre").allInnerTexts();
      assert.equal(commands[0], `export LAZARET_URL=${origin} LAZARET_API_KEY=your-api-key`);
      assert.ok(commands.includes(`curl -i '${origin}/readyz?verbose'`), commands.join("\n"));
      assert.deepEqual(
        commands.filter((command) => command.includes("$LAZARET_URL")),
        [],
      );
    }
    for (const section of await page.locator("section").all()) {
      const path = (await section.locator("h3 code").textContent()) ?? "";
      const command = (await section.locator("pre").textContent()) ?? "";
      assert.ok(command.includes(`://localhost:${port}${path}`), `${path}: ${command}`);
    }
    await page.setExtraHTTPHeaders({ "X-Forwarded-Host": "evil.example", Forwarded: "host=evil.example" });
    await page.goto(`${service.url}/docs`);
    assert.doesNotMatch(await page.content(), /evil/);
  } finally {
    await browser.close();
  }
});

test("a host that a shell would not take as it is does not get into the commands at /docs", async () => {
  const browser = await started("--host-resolver-rules=MAP *.example 127.0.0.1");
  try {
    const page = await browser.newPage();
    await page.goto(`http://a$(id)\`b.example:${new URL(service.url).port}/docs`);
    assert.match(page.url(), /\$\(id\)/);
    const commands = await page.locator("pre").allInnerTexts();
    assert.match(commands[0] ?? "", /^export LAZARET_URL=http:\/\/127\.0\.0\.1:8040 /);
    assert.ok(commands.includes("curl $LAZARET_URL/version"));
    assert.doesNotMatch(await page.content(), /\(id\)/);
  } finally {
    await browser.close();
  }
});

async function started(...more: string[]): Promise<Browser> {
  return chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--disable-background-networking",
      "--disable-component-update",
      ...more,
    ],
  });
}
