import assert from "node:assert/strict";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { ADMIN_KEY } from "./fake-service.ts";

export { startBrowser as launch } from "../../server/test/support/browser.ts";

export interface Reader extends AsyncDisposable {
  page: Page;
  context: BrowserContext;
  /** What the browser complained about so far: errors of scripts, of the console, of the content security policy. */
  complaints: string[];
  /** Goes to a page of the console, by its fragment, and waits until it is there. */
  at(fragment: string): Promise<void>;
}

export interface ReaderOptions {
  theme?: "light" | "dark";
  width?: number;
  key?: string | undefined;
  /** Answers that browsers complain about although the test wants them. */
  expected?: RegExp;
}

/** Somebody with a browser of their own, logged in. */
export async function reader(browser: Browser, url: string, options: ReaderOptions = {}): Promise<Reader> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: 800 },
    colorScheme: options.theme ?? "light",
    permissions: ["clipboard-read", "clipboard-write"],
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    if (message.type() === "error" && !options.expected?.test(message.text())) complaints.push(message.text());
  });
  await page.goto(url);
  const key = "key" in options ? options.key : ADMIN_KEY;
  if (key !== undefined) await logIn(page, key);
  // Who is not logged in yet is told 401, and browsers say so.
  complaints.length = 0;
  return {
    page,
    context,
    complaints,
    async at(fragment) {
      await page.evaluate((to) => {
        location.hash = to;
      }, fragment);
      await settled(page);
    },
    async [Symbol.asyncDispose]() {
      await context.close();
    },
  };
}

export async function logIn(page: Page, key: string): Promise<void> {
  await page.getByLabel("Admin or viewer key").fill(key);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).first().waitFor();
}

/** Nothing is being read any more. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () => document.querySelector("#content > *, .login > *") && !document.querySelector(".loading"),
  );
}

export const PAGES = {
  scan: "/",
  activity: "/jobs",
  direct: "/jobs?state=direct",
  job: "/jobs/job-000005",
  findings: "/findings",
  groups: "/findings?by=finding",
  "dead-letters": "/dead-letters",
  engines: "/engines",
  buckets: "/buckets",
  keys: "/keys",
  settings: "/settings",
  search: "/search?q=order-1",
} as const;

export function assertNone(complaints: readonly string[], what: string): void {
  assert.deepEqual(complaints, [], what);
}
