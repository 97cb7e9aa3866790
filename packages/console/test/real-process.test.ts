import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { openJobStore } from "../../server/src/platforms/embedded/job-store.ts";
import { newJobId } from "../../server/src/queue/job-queue.ts";
import { cleanReport, sampleJob } from "../../server/test/contracts/sample-job.ts";
import { adminKey, adminService } from "../../server/test/support/admin.ts";
import { anyEngineInEnvironment } from "../../server/test/support/clamd.ts";
import { eicar } from "../../server/test/support/eicar.ts";
import { fileServer } from "../../server/test/support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../../server/test/support/leftovers.ts";
import { type CliRun, runCli } from "../../server/test/support/run-cli.ts";
import { testKey } from "../../server/test/support/service.ts";
import { until } from "../../server/test/support/until.ts";
import { assertNone, launch, reader } from "./browser.ts";

/** The built pages before a `lazaret serve` that is killed, a store that is full, and the limit of uploads. */

let browser: Browser;
before(async () => {
  browser = await launch();
});
atTheEnd(() => browser.close());

async function serve(folder: string, port = "0"): Promise<{ run: CliRun; port: string }> {
  const run = runCli(["serve"], {
    cwd: folder,
    env: {
      ...(await anyEngineInEnvironment()),
      LAZARET_API_KEYS: testKey,
      LAZARET_ADMIN_KEYS: adminKey,
      LAZARET_DATA_DIR: folder,
      LAZARET_HOST: "127.0.0.1",
      LAZARET_PORT: port,
      LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
    },
  });
  const [, listening = ""] = await run.says(/"event":"listening".*"port":(\d+)/);
  return { run, port: listening };
}

async function submit(port: string, body: object): Promise<void> {
  const headers = { Authorization: `Bearer ${testKey}`, "Content-Type": "application/json" };
  const url = `http://127.0.0.1:${port}/api/v1/scan/async/download`;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 201);
}

const traces = (page: Page): Promise<string[]> => page.locator("tbody tr td:nth-child(4)").allInnerTexts();

test("the service is killed and comes back: reconnecting, then live, and no row is lost or double", async () => {
  using folder = temporaryFolder();
  await using files = await fileServer();
  const first = await serve(folder.path);
  await using _killed = first.run;
  await using someone = await reader(browser, `http://127.0.0.1:${first.port}/console/`, {
    key: adminKey,
    expected: /ERR_|Failed to load/,
  });
  await someone.at("/jobs");
  const status = someone.page.getByRole("status");
  await status.getByText("live").waitFor();
  for (const trace of ["one", "two", "three"])
    await submit(first.port, { download_url: `${files.origin}/clean`, trace_id: trace });
  await someone.page.waitForFunction(() => document.querySelectorAll("tbody .state.done").length === 3);
  await first.run.stop("SIGKILL");
  await status.getByText("reconnecting").waitFor();
  assert.deepEqual((await traces(someone.page)).sort(), ["one", "three", "two"], "what was read stays");
  const second = await serve(folder.path, first.port);
  await using _ended = second.run;
  await submit(second.port, { download_url: `${files.origin}/eicar`, trace_id: "four" });
  await status.getByText("live").waitFor();
  await someone.page.locator("tr", { hasText: "four" }).getByText("infected").waitFor();
  await submit(second.port, { download_url: `${files.origin}/clean`, trace_id: "five" });
  await someone.page.locator("tr", { hasText: "five" }).locator(".verdict.clean").waitFor();
  assert.deepEqual(await traces(someone.page), ["five", "four", "three", "two", "one"]);
  assertNone(someone.complaints, "the same session goes on, and nothing else went wrong");
});

test("ten thousand finished jobs in the store: the newest are there, older ones by the address", async (t) => {
  using folder = temporaryFolder();
  await fill(folder.path, 10_000);
  await using admin = await adminService({ dataDir: folder.path });
  await using someone = await reader(browser, `${admin.service.url}/console/`, { key: adminKey });
  await someone.at("/jobs");
  const began = performance.now();
  await someone.page.reload();
  await someone.page.locator("tbody tr").nth(99).waitFor();
  await someone.page.getByRole("link", { name: "done 10,000" }).waitFor();
  t.diagnostic(`first view: ${Math.round(performance.now() - began)} ms`);
  await someone.page.locator("tbody tr").first().getByText("order-9999", { exact: true }).waitFor();
  await someone.page.getByRole("link", { name: "Older" }).click();
  await someone.page.getByText("order-9899", { exact: true }).waitFor();
  await someone.page.keyboard.press("/");
  await someone.page.keyboard.type("order-7000");
  await someone.page.keyboard.press("Enter");
  await someone.page.locator("tbody tr", { hasText: "order-7000" }).waitFor();
});

async function fill(dataDir: string, count: number): Promise<void> {
  const store = await openJobStore(dataDir);
  const begin = Date.now() - count * 10;
  for (let done = 0; done < count; done += 1000) {
    const jobs = Array.from({ length: 1000 }, (_, at) => {
      const submittedAt = begin + (done + at) * 10;
      return sampleJob({ id: newJobId(submittedAt), submittedAt, traceId: `order-${done + at}` });
    });
    await Promise.all(jobs.map((job) => store.queue.add(job)));
    const leases = await store.queue.take(1000);
    await Promise.all(
      leases.map((lease) => lease.settle({ kind: "done", job: { ...lease.job, report: cleanReport } })),
    );
  }
  await store.close();
}

test("what is copied as curl is run, and is told the same verdict; 200 MB and a byte are refused with a hint", async () => {
  await using admin = await adminService();
  await using someone = await reader(browser, `${admin.service.url}/console/`, { key: adminKey });
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "it's a test.com"), eicar());
  await someone.page.getByLabel("Files to scan").setInputFiles(join(folder.path, "it's a test.com"));
  const row = someone.page.locator(".scan-row", { hasText: "it's a test.com" });
  await row.getByText("infected").waitFor();
  await row.getByRole("button", { name: "Copy as curl" }).click();
  const command = await someone.page.evaluate(() => navigator.clipboard.readText());
  const env = { ...process.env, LAZARET_API_KEY: testKey };
  const { stdout } = await promisify(execFile)("sh", ["-c", command], { cwd: folder.path, env });
  assert.equal((JSON.parse(stdout) as { status: string }).status, "infected");

  const large = join(folder.path, "large.iso");
  writeFileSync(large, "");
  truncateSync(large, 200 * 1024 * 1024 + 1);
  await someone.page.getByLabel("Files to scan").setInputFiles(large);
  const refused = someone.page.locator(".scan-row", { hasText: "large.iso" });
  await refused.getByText("larger than 200 MB, so it was not sent").waitFor();
  await refused.getByText("submit a job").waitFor();
  await until("only one was scanned", async () => {
    const { recent } = await admin.get<{ recent: unknown[] }>("activity?range=15m");
    return recent.length === 2;
  });
  assertNone(someone.complaints, "no error");
});
