import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startBrowser } from "../support/browser.ts";
import { eicar } from "../support/eicar.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { testKey, testService } from "../support/service.ts";
import { examplesFolder, startServer } from "./start-server.ts";

/** For a browser on a busy machine. */
const timeout = 120_000;

test("the form of examples/express keeps a clean file, and shows why another is refused, in a browser", async () => {
  using folder = temporaryFolder();
  await using service = await testService({ engine: "P", clamd: "none", concurrency: 2 });
  await using example = await startServer(new URL("express/server.ts", examplesFolder), {
    cwd: folder.path,
    env: { LAZARET_URL: service.url, LAZARET_API_KEY: testKey },
  });
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(timeout);
    await page.goto(example.origin, { timeout });
    const upload = async (buffer: Buffer, expected: RegExp): Promise<void> => {
      await page.locator("input").setInputFiles({ name: "report.txt", mimeType: "text/plain", buffer });
      await page.getByRole("button", { name: "Upload" }).click();
      await page.getByText(expected).waitFor();
    };
    await upload(eicar(), /^refused: infected, EICAR_Test_File$/);
    assert.deepEqual(readdirSync(join(folder.path, "data/uploads")), []);
    await upload(Buffer.from("a clean file"), /^kept as [0-9a-f-]{36}$/);
    assert.equal(readdirSync(join(folder.path, "data/uploads")).length, 1);
  } finally {
    await browser.close();
  }
});
