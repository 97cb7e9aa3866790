import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** A real browser that asks nobody else for anything. */
export async function startBrowser(...more: string[]): Promise<Browser> {
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
    // On a busy machine.
    timeout: 120_000,
  });
}

export interface WatchedPage extends AsyncDisposable {
  page: Page;
  /** Addresses that it asked for. */
  requests: string[];
  /** What the browser had to say: errors of scripts, and what a policy forbade. */
  complaints: string[];
}

export async function watchedPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  return { page, requests, complaints, [Symbol.asyncDispose]: () => context.close() };
}
