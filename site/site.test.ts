import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startBrowser } from "../packages/server/test/support/browser.ts";
import { temporaryFolder } from "../packages/server/test/support/leftovers.ts";
import { buildSite } from "./build.ts";
import { renderPage } from "./markdown.ts";
import { chapters, maintainers } from "./pages.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
describe("the pages as a site", () => {
  const folder = temporaryFolder();
  after(() => folder[Symbol.dispose]());
  const site = buildSite(folder.path);

  test("every page of the repository has a place in the site", () => {
    const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((name) => `docs/${name}`);
    const top = readdirSync(root);
    const pages = [...docs, ...top].filter((name) => name.endsWith(".md"));
    assert.ok(pages.length > 70, `only ${pages.length} pages`);
    assert.deepEqual(
      pages.filter((page) => !site.pages.has(page)),
      [],
    );
    const listed = [...chapters, maintainers].flatMap(({ pages: of }) => of);
    assert.equal(new Set(listed).size, listed.length, "a page is listed twice");
  });

  test("no link leads nowhere", () => {
    assert.deepEqual(site.broken, []);
  });

  test("headings have the names that links give them, and what looks like HTML stays text", () => {
    const text =
      '# A `b`: c\n\n## Two words\n\n## Two words\n\n<script>x</script> [here](a.md#b?"><i>)\n\n![p](p.png)\n';
    const page = renderPage(text, (href) => `to:${href}`);
    assert.deepEqual(
      page.headings.map(({ id }) => id),
      ["a-b-c", "two-words", "two-words-1"],
    );
    assert.equal(page.title, "A b: c");
    assert.match(page.html, /&lt;script&gt;x&lt;\/script&gt;/);
    assert.match(page.html, /<img src="to:p.png" alt="p" loading="lazy">/);
    assert.doesNotMatch(page.html, /<i>|<script/);
  });

  test("in a browser, from a folder: the search finds a part of a page, narrow pages fit, and nothing is asked of others", async () => {
    const browser = await startBrowser();
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      const said: string[] = [];
      page.on("console", (message) => said.push(message.text()));
      page.on("pageerror", (error) => said.push(error.message));
      page.on("request", (request) => {
        if (!/^(file|data):/.test(request.url())) said.push(request.url());
      });
      const address = (name: string): string => pathToFileURL(join(folder.path, name)).href;
      await page.goto(address("decisions/0001-http-server.html"));
      await page.keyboard.press("/");
      await page.keyboard.type("verify the signature without the client");
      await page.locator("#found a").first().waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(/callbacks\.html#verify-the-signature/);
      await page.getByRole("searchbox").fill("zzzzqqqq");
      await page.getByText("Nothing found.").waitFor();
      await page.setViewportSize({ width: 375, height: 800 });
      for (const name of ["index.html", "settings.html", "performance.html"]) {
        await page.goto(address(name));
        assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 375, name);
      }
      assert.deepEqual(said, []);
    } finally {
      await browser.close();
    }
  });
});
