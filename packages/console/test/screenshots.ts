import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type AdminService, adminKey, adminService } from "../../server/test/support/admin.ts";
import { answering, callbackReceiver } from "../../server/test/support/callback-receiver.ts";
import { eicar } from "../../server/test/support/eicar.ts";
import { httpServer } from "../../server/test/support/loopback-server.ts";
import { toldClock } from "../../server/test/support/told-clock.ts";
import { until } from "../../server/test/support/until.ts";
import { launch, type Reader, reader } from "./browser.ts";

/** Not a test, although it runs as one: pictures of the pages for the docs, of a real service that has had a busy quarter of an hour. */

const pictures = join(import.meta.dirname, "../../../docs/pictures");
const ROUNDS = 84;
const ROUND_SECONDS = 10;

test("the pages, as the docs show them", async () => {
  mkdirSync(pictures, { recursive: true });
  const clock = toldClock();
  clock.advance(-ROUNDS * ROUND_SECONDS);
  const checks = [
    { name: "clock", ok: true, detail: "within a second of the database" },
    { name: "disk", ok: true, detail: "77 GB free" },
  ];
  await using admin = await adminService({}, { now: clock.now, sleep: clock.sleep, doctor: async () => checks });
  await using files = await httpServer((request, response) => {
    const path = request.url ?? "";
    response.end(path.includes("setup") ? eicar() : `the text of ${path}`.repeat(400));
  });
  await using shop = await callbackReceiver(answering(204));
  await using broken = await callbackReceiver(answering(503));
  await quarterOfAnHour(admin, clock.advance, {
    files: `http://127.0.0.1:${files.port}`,
    shop: `${shop.origin}/scanned`,
    broken: `${broken.origin}/hooks/files`,
  });
  const browser = await launch();
  try {
    await take(await reader(browser, `${admin.service.url}/console/`, { key: adminKey }));
    const dark = await reader(browser, `${admin.service.url}/console/`, { key: adminKey, theme: "dark" });
    await picture(dark, "activity-dark", "/jobs");
    const phone = await reader(browser, `${admin.service.url}/console/`, { key: adminKey, width: 375 });
    await picture(phone, "activity-phone", "/jobs");
  } finally {
    await browser.close();
  }
});

async function quarterOfAnHour(
  admin: AdminService,
  advance: (seconds: number) => void,
  at: { files: string; shop: string; broken: string },
): Promise<void> {
  let number = 1000;
  for (let round = 0; round < ROUNDS; round += 1) {
    const jobs = 1 + Math.round(1.5 + 1.5 * Math.sin(round / 9));
    for (let each = 0; each < jobs; each += 1) {
      number += 1;
      const name = number % 40 === 0 ? `setup-${number}.exe` : `invoice-${number}.pdf`;
      await admin.submit({
        download_url: `${at.files}/orders/${name}?signature=of-the-shop`,
        callback_url: number % 41 === 0 ? at.broken : at.shop,
        trace_id: `order-${number}`,
      });
    }
    if (round % 7 === 0) await upload(admin, `letter-${round}.txt`, Buffer.from(`Dear reader ${round}`));
    if (round === 60) await upload(admin, "holiday photos.scr", eicar());
    await until("the round is done", async () => {
      const { queued, under_way: underWay } = await admin.get<{ queued: number; under_way: number }>("jobs/counts");
      return queued + underWay === 0;
    });
    advance(ROUND_SECONDS);
  }
}

async function upload(admin: AdminService, name: string, bytes: Buffer): Promise<void> {
  const form = new FormData();
  form.set("file", new File([new Uint8Array(bytes)], name));
  await admin.service.call("/api/v1/scan/sync/form", { method: "POST", body: form });
}

async function take(someone: Reader): Promise<void> {
  const { page } = someone;
  const named = (name: string, text: string): { name: string; mimeType: string; buffer: Buffer } => ({
    name,
    mimeType: "text/plain",
    buffer: Buffer.from(text),
  });
  await page.getByRole("button", { name: "Try the EICAR test file" }).click();
  await page
    .getByLabel("Files to scan")
    .setInputFiles([named("report.txt", "a report"), named("cv\u202Efdp.txt", "a life")]);
  await page.waitForFunction(() => document.querySelectorAll(".scan-row .verdict").length === 3);
  await picture(someone, "scan", "/");
  await picture(someone, "activity", "/jobs");
  await picture(someone, "findings", "/findings");
  await picture(someone, "dead-letters", "/dead-letters");
  await page.locator("tbody a").first().click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  await page.screenshot({ path: join(pictures, "job.png") });
  await someone.at("/engines");
  await page.getByRole("button", { name: "Run the self-test" }).click();
  await page.getByText("✔ passed").waitFor();
  await page.screenshot({ path: join(pictures, "engines.png") });
  await picture(someone, "buckets", "/buckets");
  await picture(someone, "keys", "/keys");
  await picture(someone, "settings", "/settings");
}

async function picture(someone: Reader, name: string, path: string): Promise<void> {
  await someone.at(path);
  // The chart comes with a file of its own.
  if (path === "/jobs") await someone.page.locator(".plot canvas").waitFor();
  const width = someone.page.viewportSize()?.width ?? 1280;
  // Not all of it: a picture of the docs has at most 150 KB.
  const clip = { x: 0, y: 0, width, height: 720 };
  await someone.page.screenshot({ path: join(pictures, `${name}.png`), clip });
}
