import assert from "node:assert/strict";
import { before, test } from "node:test";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { atTheEnd } from "../../server/test/support/leftovers.ts";
import { assertNone, launch, PAGES, type Reader, reader, settled } from "./browser.ts";
import { type FakeService, fakeService } from "./fake-service.ts";

let browser: Browser;
let fake: FakeService;
before(async () => {
  fake = await fakeService();
  browser = await launch();
});
atTheEnd(() => fake[Symbol.asyncDispose]());
atTheEnd(() => browser.close());

for (const theme of ["light", "dark"] as const) {
  for (const width of [375, 1280]) {
    test(`every page can be read by everybody: ${theme}, ${width} px`, async () => {
      await using someone = await reader(browser, fake.url, { theme, width });
      for (const [name, path] of Object.entries(PAGES)) {
        await someone.at(path);
        await assertReadable(someone, `${name}, ${theme}, ${width}`);
      }
      assertNone(someone.complaints, "no error, and nothing against the policy");
    });
  }
}

test("the login page and the help can be read by everybody, in both themes", async () => {
  for (const theme of ["light", "dark"] as const) {
    await using stranger = await reader(browser, fake.url, { theme, width: 375, key: undefined });
    await stranger.page.getByRole("button", { name: "Log in" }).waitFor();
    await assertReadable(stranger, `login, ${theme}`);
    await using someone = await reader(browser, fake.url, { theme });
    await someone.page.keyboard.press("?");
    await someone.page.getByRole("dialog").waitFor();
    await assertReadable(someone, `help, ${theme}`);
  }
});

test("pages that have nothing to show say how to get something, with this server's address", async () => {
  await using empty = await fakeService({ jobs: 0 });
  empty.findings = [];
  empty.letters = [];
  await using someone = await reader(browser, empty.url);
  await someone.at("/jobs");
  await someone.page.getByRole("heading", { name: "No jobs yet" }).waitFor();
  const curl = (await someone.page.locator("pre").first().textContent()) ?? "";
  assert.ok(curl.startsWith(`curl -H "Authorization: Bearer $LAZARET_API_KEY"`), curl);
  assert.ok(curl.includes(`${new URL(empty.url).origin}/api/v1/scan/async/download`), curl);
  for (const path of ["/", "/findings", "/dead-letters", "/search?q=nothing-like-it", "/jobs/unknown", "/nowhere"]) {
    await someone.at(path);
    assert.ok((await someone.page.locator(".empty, .teach").count()) > 0, path);
    await assertReadable(someone, `empty ${path}`);
  }
  empty.eventBus = true;
  await someone.page.reload();
  await someone.at("/dead-letters");
  await someone.page.getByText("The event bus is on").waitFor();
});

test("names that clients chose are inert text, and what turns text around is visible", async () => {
  await using someone = await reader(browser, fake.url);
  for (const [name, path] of Object.entries(PAGES)) {
    await someone.at(path);
    assert.equal(await someone.page.locator("img, iframe, object, embed").count(), 0, name);
    const text = await someone.page.locator("body").textContent();
    assert.doesNotMatch(text ?? "", /[\u202a-\u202e\u2066-\u2069]/, name);
    assert.equal(await someone.page.locator("[style]:not(.plot *)").count(), 0, `no style attribute: ${name}`);
  }
  await someone.at("/jobs/job-000005");
  await someone.page.getByText("⟦RLO⟧").first().waitFor();
  await someone.page.getByText(`"><img src=x onerror=alert(1)>`).first().waitFor();
  assertNone(someone.complaints, "nothing ran");
});

test("verdicts are said by a word and a sign, not by colour alone", async () => {
  await using someone = await reader(browser, fake.url);
  await someone.at("/jobs");
  for (const text of ["✔clean", "✖infected", "!not scanned"]) {
    await someone.page
      .locator("td .verdict", { hasText: text.slice(1) })
      .first()
      .waitFor();
    const shown = await someone.page
      .locator("td .verdict", { hasText: text.slice(1) })
      .first()
      .textContent();
    assert.equal(shown, text);
  }
});

test("the theme that was chosen stays", async () => {
  await using someone = await reader(browser, fake.url, { theme: "light" });
  const theme = (): Promise<string | undefined> => someone.page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), "light");
  await someone.page.getByRole("button", { name: "Switch to dark" }).click();
  assert.equal(await theme(), "dark");
  await someone.page.reload();
  await settled(someone.page);
  assert.equal(await theme(), "dark");
});

test("the timeline shows every try of a callback with its status, and the signature with its parts", async () => {
  await using someone = await reader(browser, fake.url);
  await someone.at("/jobs/order-5");
  const folded = someone.page.getByText("Callback tries 1–5 ✖ 503");
  assert.equal(await someone.page.getByText("Callback try 5").isVisible(), false);
  await folded.click();
  const steps = await someone.page.locator(".timeline .step").allInnerTexts();
  assert.deepEqual(
    steps.filter((step) => step.startsWith("Callback try ")),
    ["✖ 503", "✖ 503", "✖ 503", "✖ 503", "✖ 503", "✔ 204"].map((end, index) => `Callback try ${index + 1} ${end}`),
  );
  await someone.page.getByText("✔ callback delivered: answered 204").waitFor();
  await someone.page.getByText("✔ verifies with the public key").waitFor();
  for (const part of ["timestamp", "url", "body"])
    await someone.page.locator("dt", { hasText: part }).first().waitFor();
});

test("an error shows what the server said and its hint, and trying again brings the page", async () => {
  await using someone = await reader(browser, fake.url, { expected: /503/ });
  fake.answers.set("engines", {
    status: 503,
    body: { code: "away", message: "the store is away", hint: "look at the disk" },
  });
  try {
    await someone.at("/engines");
    const alert = someone.page.getByRole("alert");
    await alert.getByText("the store is away").waitFor();
    await alert.getByText("look at the disk").waitFor();
  } finally {
    fake.answers.clear();
  }
  await someone.page.getByRole("button", { name: "Try again" }).click();
  await someone.page.getByText("ready to scan").waitFor();
  assert.equal(await someone.page.getByRole("alert").count(), 0);
  assertNone(someone.complaints, "no other error");
});

async function assertReadable({ page }: Reader, what: string): Promise<void> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => {
    const axe = (globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }).axe;
    type Violation = { id: string; help: string; nodes: { html: string }[] };
    const found = await axe.run({ resultTypes: ["violations"] });
    return found.violations.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).slice(0, 3)}`,
    );
  });
  assert.deepEqual(violations, [], what);
  assert.ok((await overflow(page)) <= 0, `wider than the window: ${what}`);
}

function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}
