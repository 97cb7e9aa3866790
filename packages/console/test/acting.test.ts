import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { eicar } from "../../server/test/support/eicar.ts";
import { atTheEnd, temporaryFolder } from "../../server/test/support/leftovers.ts";
import { httpServer } from "../../server/test/support/loopback-server.ts";
import { until } from "../../server/test/support/until.ts";
import { assertNone, launch, logIn, PAGES, reader, settled } from "./browser.ts";
import { ADMIN_KEY, fakeService, LINK, VIEWER_KEY } from "./fake-service.ts";

let browser: Browser;
before(async () => {
  browser = await launch();
});
atTheEnd(() => browser.close());

test("a wrong key is told why, the right one opens the page that was asked for", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, `${fake.url}#/findings`, { key: undefined });
  await someone.page.getByLabel("Admin or viewer key").fill("wrong");
  await someone.page.getByRole("button", { name: "Log in" }).click();
  await someone.page.getByRole("alert").getByText("this key opens nothing here").waitFor();
  await logIn(someone.page, ADMIN_KEY);
  await someone.page.getByRole("heading", { name: "Findings", level: 1 }).waitFor();
});

test("a link logs in once, and its token leaves the address at once", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, `${fake.url}#/login?link=${LINK}`, { key: undefined });
  await someone.page.getByRole("heading", { name: "Scan", level: 1 }).waitFor();
  assert.doesNotMatch(someone.page.url(), /link/);
  assert.equal(
    fake.calls[0]?.path,
    "login",
    "nothing is asked for before, which would be refused and complained about",
  );
  await using other = await reader(browser, `${fake.url}#/login?link=${LINK}`, { key: undefined });
  await other.page.getByRole("alert").waitFor();
  assert.doesNotMatch(other.page.url(), /link/);
});

test("a session that ends leads to the login, and back to where the reader was", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url, { expected: /401/ });
  await someone.at("/findings?verdict=infected");
  fake.expire();
  await someone.at("/dead-letters?q=shop");
  await someone.page.getByText("the session is over").waitFor();
  await logIn(someone.page, ADMIN_KEY);
  await someone.page.getByRole("heading", { name: "Dead letters", level: 1 }).waitFor();
  assert.equal(await someone.page.getByLabel("Search", { exact: true }).inputValue(), "shop");
  assertNone(someone.complaints, "nothing else");
});

test("files and folders are sent with their names, and verdicts are shown as the server said them", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url);
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, "in"));
  writeFileSync(join(folder.path, "in", "a.txt"), "nothing bad");
  writeFileSync(join(folder.path, "in", "b.com"), eicar());
  await someone.page.getByLabel("Folder to scan").setInputFiles(join(folder.path, "in"));
  const row = (name: string): ReturnType<Page["locator"]> => someone.page.locator(".scan-row", { hasText: name });
  await row("in/a.txt").getByText("clean").waitFor();
  await row("in/b.com").getByText("infected").waitFor();
  await someone.page.getByRole("button", { name: "Try the EICAR test file" }).click();
  await row("eicar.com").getByText("Win.Test.EICAR_HDB-1").waitFor();
  const uploads = fake.calls.filter(({ path }) => path === "scan/upload");
  assert.equal(uploads.length, 3);
  for (const { headers } of uploads) {
    assert.equal(headers["content-type"], "application/octet-stream");
    assert.equal(headers["x-lazaret-csrf"], "csrf-of-tests");
  }
  assert.ok(uploads.some(({ body }) => body === eicar().toString("latin1")));
});

test("files that are dropped are scanned, those in folders too, and one byte too many is refused before it is sent", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url);
  await someone.page.evaluate(
    (most) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["one"], "one.txt"));
      transfer.items.add(new File(["two"], "two.txt"));
      const large = new File(["x"], "large.iso");
      Object.defineProperty(large, "size", { value: most + 1 });
      transfer.items.add(large);
      // An entry of its own for each, as a real drop has: a File that came by items.add has none.
      Object.defineProperty(transfer, "items", { value: [] });
      Object.defineProperty(transfer, "files", {
        value: [new File(["one"], "one.txt"), new File(["two"], "two.txt"), large],
      });
      document
        .querySelector(".drop")
        ?.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    },
    200 * 1024 * 1024,
  );
  await someone.page.locator(".scan-row", { hasText: "one.txt" }).getByText("clean").waitFor();
  await someone.page.locator(".scan-row", { hasText: "two.txt" }).getByText("clean").waitFor();
  const large = someone.page.locator(".scan-row", { hasText: "large.iso" });
  await large.getByText("larger than 200 MB, so it was not sent").waitFor();
  await large.getByText("submit a job").waitFor();
  assert.equal(fake.calls.filter(({ path }) => path === "scan/upload").length, 2);
});

test("what is copied as curl is a command that a shell runs, whatever the file is called", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url);
  const name = `-@it's "$(touch pwned)".txt`;
  await someone.page
    .getByLabel("Files to scan")
    .setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from("hello") });
  await someone.page.getByRole("button", { name: "Copy as curl" }).click();
  const command = await someone.page.evaluate(() => navigator.clipboard.readText());
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, name), "the very bytes");
  const got: string[] = [];
  await using api = await httpServer((request, response) => {
    request.on("data", (piece: Buffer) => got.push(`${request.url} ${request.headers.authorization} ${piece}`));
    request.on("end", () => response.end("{}"));
  });
  const here = command.replace(new URL(fake.url).host, `127.0.0.1:${api.port}`);
  const env = { ...process.env, LAZARET_API_KEY: "key-of-a-program" };
  await run(here, folder.path, env);
  assert.deepEqual(got, ["/api/v1/scan/sync/binary Bearer key-of-a-program the very bytes"]);
  assert.throws(() => execFileSync("ls", [join(folder.path, "pwned")], { stdio: "ignore" }));
});

test("dead letters are chosen, redriven, and their progress is seen", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url);
  await someone.at("/dead-letters");
  await someone.page.getByLabel("select order-1").check();
  await someone.page.getByLabel("select order-2").check();
  await someone.page.getByRole("button", { name: "Redrive the callback" }).click();
  await until("the order is there", () => fake.calls.some(({ path }) => path === "dead-letters/redrive"));
  const order = fake.calls.find(({ path }) => path === "dead-letters/redrive");
  assert.deepEqual(JSON.parse(order?.body ?? ""), {
    ids: ["job-000001", "job-000002"],
    what: "callback",
    per_second: 20,
  });
  await someone.page.getByText("0 of 4").waitFor();
  const [task] = fake.tasks;
  assert.ok(task);
  await until("the page listens", () => fake.streams.size === 1);
  fake.emit({ type: "task", task: { ...task, done: 3 } });
  await someone.page.getByText("3 of 4").waitFor();
  // All of them is asked for first.
  await someone.page.getByRole("button", { name: "Redrive the whole job" }).click();
  await someone.page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  assert.equal(fake.calls.filter(({ path }) => path === "dead-letters/redrive").length, 1);
  await someone.page.getByRole("button", { name: "Delete" }).click();
  await someone.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await until("the delete is there", () => fake.calls.some(({ path }) => path === "dead-letters/delete"));
  assert.deepEqual(JSON.parse(fake.calls.find(({ path }) => path === "dead-letters/delete")?.body ?? ""), {
    all: true,
  });
});

test("a key that is made is shown once, and revoking asks first", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url);
  await someone.at("/keys");
  await someone.page.getByText("Make a key").click();
  await someone.page.getByLabel("Name", { exact: true }).fill("new-shop");
  await someone.page.getByRole("button", { name: "Make the key" }).click();
  await someone.page.getByText("lzk_secret-shown-once").waitFor();
  await someone.at("/settings");
  await someone.at("/keys");
  assert.equal(await someone.page.getByText("lzk_secret-shown-once").count(), 0);
  await someone.page.getByRole("button", { name: "Revoke" }).nth(1).click();
  await someone.page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await until("it is revoked", () => fake.calls.some(({ path }) => path === "keys/revoke"));
});

test("a viewer sees every page, and every button that acts is off with the reason", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url, { key: VIEWER_KEY });
  const acting = /^(Choose|Try the EICAR|Send|Scan|Redrive|Delete|Run the|Revoke|Make the)/;
  let seen = 0;
  for (const [name, path] of Object.entries(PAGES)) {
    await someone.at(path);
    for (const details of await someone.page.locator("details summary").all()) await details.click();
    for (const button of await someone.page.locator("main button").all()) {
      const text = (await button.textContent()) ?? "";
      if (!acting.test(text)) continue;
      seen += 1;
      assert.equal(await button.isDisabled(), true, `${name}: ${text}`);
    }
  }
  assert.ok(seen >= 12, `${seen} buttons`);
  await someone.at("/dead-letters");
  await someone.page.getByText("viewer key, which only looks").waitFor();
  assert.deepEqual(
    fake.calls.filter(({ method, path }) => method === "POST" && path !== "login"),
    [],
  );
});

test("by keyboard alone: log in, search, go to a job, to dead letters, choose and redrive one", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url, { key: undefined });
  const { page } = someone;
  const { keyboard } = page;
  await page.getByLabel("Admin or viewer key").waitFor();
  await keyboard.press("Tab");
  await keyboard.type(ADMIN_KEY);
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "Scan", level: 1 }).waitFor();
  await keyboard.press("/");
  await keyboard.type("order-5");
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "Search: order-5" }).waitFor();
  await keyboard.press("Escape");
  await tabTo(page, "incoming/2026/report 5.docx");
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  for (const [key, title] of [
    ["j", "Activity"],
    ["f", "Findings"],
    ["d", "Dead letters"],
  ] as const) {
    await keyboard.press("g");
    await keyboard.press(key);
    await page.getByRole("heading", { name: title, level: 1 }).waitFor();
  }
  await settled(page);
  await tabTo(page, "select order-1");
  await keyboard.press("Space");
  await keyboard.press("Shift+Tab");
  for (let step = 0; step < 5 && !(await focused(page)).includes("Redrive the callback"); step += 1)
    await keyboard.press("Shift+Tab");
  await keyboard.press("Enter");
  await until("it is redriven", () => fake.calls.some(({ path }) => path === "dead-letters/redrive"));
  await keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("under a sub-path everything works, and nothing outside of it is asked for", async () => {
  await using fake = await fakeService({ prefix: "/tools/scanner" });
  await using someone = await reader(browser, fake.url);
  const asked: string[] = [];
  someone.page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  for (const path of Object.values(PAGES)) await someone.at(path);
  await someone.page.reload();
  await settled(someone.page);
  await until("the page listens", () => fake.streams.size > 0);
  assert.ok(asked.length > 12);
  for (const path of asked) assert.match(path, /^\/tools\/scanner\//);
  assertNone(someone.complaints, "no error");
});

async function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement;
    return `${element?.getAttribute("aria-label") ?? ""} ${element?.textContent ?? ""}`;
  });
}

async function tabTo(page: Page, text: string): Promise<void> {
  for (let step = 0; step < 60; step += 1) {
    await page.keyboard.press("Tab");
    if ((await focused(page)).includes(text)) return;
  }
  throw new Error(`no tab leads to ${text}`);
}

/** Not in this process's own turn: the server it talks to is here. */
async function run(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const { execFile } = await import("node:child_process");
  const { promisify } = await import("node:util");
  await promisify(execFile)("sh", ["-c", command], { cwd, env });
}
