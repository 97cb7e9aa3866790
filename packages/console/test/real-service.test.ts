import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { adminKey, adminService, viewerKey } from "../../server/test/support/admin.ts";
import { answering, type CallbackAnswer, callbackReceiver } from "../../server/test/support/callback-receiver.ts";
import { eicar } from "../../server/test/support/eicar.ts";
import { fileServer } from "../../server/test/support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../../server/test/support/leftovers.ts";
import { toldClock } from "../../server/test/support/told-clock.ts";
import { until } from "../../server/test/support/until.ts";
import { assertNone, launch, reader } from "./browser.ts";

/** The built pages, served by the real service with a real engine. */

let browser: Browser;
before(async () => {
  browser = await launch();
});
atTheEnd(() => browser.close());

const consoleOf = (service: { url: string }): string => `${service.url}/console/`;
const row = (page: Page, text: string): ReturnType<Page["locator"]> => page.locator("tr, .scan-row", { hasText: text });

test("three files of a folder: their verdicts, then found again under Findings and by search, and nothing is complained about", async () => {
  await using admin = await adminService({}, { doctor: async () => [{ name: "clock", ok: true, detail: "right" }] });
  await using someone = await reader(browser, consoleOf(admin.service), { key: adminKey });
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, "inbox"));
  writeFileSync(join(folder.path, "inbox", "letter.txt"), "Dear reader");
  writeFileSync(join(folder.path, "inbox", "invoice\u202Efdp.com"), eicar());
  writeFileSync(join(folder.path, "inbox", "<img src=x onerror=alert(1)>.txt"), "nothing");
  await someone.page.getByLabel("Folder to scan").setInputFiles(join(folder.path, "inbox"));
  await row(someone.page, "letter.txt").getByText("clean").waitFor();
  await row(someone.page, "onerror=alert(1)").getByText("clean").waitFor();
  await row(someone.page, "⟦RLO⟧").getByText("infected").waitFor();
  await someone.at("/findings");
  await row(someone.page, "⟦RLO⟧fdp.com").getByText("infected").waitFor();
  assert.equal(await someone.page.getByText("letter.txt").count(), 0);
  await someone.page.keyboard.press("/");
  await someone.page.keyboard.type("invoice");
  await someone.page.keyboard.press("Enter");
  await row(someone.page, "⟦RLO⟧fdp.com").waitFor();
  assert.equal(await someone.page.locator("nav.rail [aria-current]").count(), 0, "the search is no page of the rail");
  for (const path of ["/jobs", "/jobs?state=direct", "/dead-letters", "/engines", "/buckets", "/keys", "/settings"]) {
    await someone.at(path);
    assert.equal(await someone.page.getByRole("alert").count(), 0, path);
  }
  assertNone(someone.complaints, "no error, and nothing against the policy that the service sends");
});

test("a job submitted by the API appears without a reload; a receiver that answers 503 five times is seen in its timeline", async () => {
  const clock = toldClock();
  await using files = await fileServer();
  await using admin = await adminService({}, { sleep: clock.sleep });
  let asked = 0;
  const refusing: CallbackAnswer = (socket, request) => {
    asked += 1;
    answering(asked <= 5 ? 503 : 204)(socket, request);
  };
  await using receiver = await callbackReceiver(refusing);
  await using someone = await reader(browser, consoleOf(admin.service), { key: adminKey });
  await someone.at("/jobs");
  await someone.page.getByText("live", { exact: true }).first().waitFor();
  await admin.submit({
    download_url: `${files.origin}/eicar?token=of-a-client`,
    callback_url: `${receiver.origin}/scanned`,
    trace_id: "order-7",
  });
  await row(someone.page, "order-7").getByText("infected").waitFor();
  await row(someone.page, "order-7").getByText("done").waitFor();
  await row(someone.page, "order-7").getByRole("link").click();
  await someone.page.getByText("Callback try 6").waitFor();
  await someone.page.getByText("Callback tries 1–5 ✖ 503").click();
  const tries = (await someone.page.locator(".timeline .step").allInnerTexts()).filter((step) =>
    step.startsWith("Callback try "),
  );
  assert.deepEqual(
    tries.map((step) => step.replace(/^Callback try \d+ /, "")),
    ["✖ 503", "✖ 503", "✖ 503", "✖ 503", "✖ 503", "✔ 204"],
  );
  await someone.page.getByText("✔ verifies with the public key").waitFor();
  const text = await someone.page.locator("body").textContent();
  assert.doesNotMatch(text ?? "", /of-a-client/);
  assertNone(someone.complaints, "no error");
});

test("a dead letter is redriven from its page, and is done", async () => {
  const clock = toldClock();
  await using files = await fileServer();
  await using admin = await adminService({}, { sleep: clock.sleep, now: clock.now });
  let status = 503;
  await using receiver = await callbackReceiver((socket, request) => answering(status)(socket, request));
  await admin.submit({
    download_url: `${files.origin}/clean`,
    callback_url: `${receiver.origin}/scanned`,
    trace_id: "order-8",
  });
  const state = async (): Promise<string> => (await admin.get<{ state: string }>("jobs/order-8")).state;
  await until("it is dead", async () => {
    clock.advance(20);
    return (await state()) === "dead";
  });
  await using someone = await reader(browser, consoleOf(admin.service), { key: adminKey });
  await someone.at("/dead-letters");
  await row(someone.page, "order-8").getByRole("checkbox").check();
  status = 204;
  await someone.page.getByRole("button", { name: "Redrive the callback" }).click();
  await until("it is done", async () => (await state()) === "done");
  await someone.page.getByRole("heading", { name: "No dead letters" }).waitFor();
  await someone.at("/jobs/order-8");
  await someone.page.getByText("✔ 204").waitFor();
});

test("a viewer of the real service sees the pages, and is refused what it sends by hand", async () => {
  await using admin = await adminService();
  await using someone = await reader(browser, consoleOf(admin.service), { key: viewerKey });
  await someone.at("/engines");
  assert.equal(await someone.page.getByRole("button", { name: "Run the self-test" }).isDisabled(), true);
  const answered = await someone.page.evaluate(async () => {
    const { csrf } = (await (await fetch("../admin/v1/session")).json()) as { csrf: string };
    const headers = { "content-type": "application/json", "x-lazaret-csrf": csrf };
    return (await fetch("../admin/v1/engines/self-test", { method: "POST", headers, body: "{}" })).status;
  });
  assert.equal(answered, 403);
});
