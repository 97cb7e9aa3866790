import assert from "node:assert/strict";
import { before, test } from "node:test";
import { atTheEnd } from "../support/leftovers.ts";
import { followPage } from "./follow-page.ts";
import { type Place, place } from "./place.ts";

/** The pages that are followed, and how many commands each has at least. */
const pages: Record<string, number> = {
  "README.md": 10,
  "docs/scan-uploads.md": 3,
  "docs/callbacks.md": 7,
  "docs/guard-a-bucket.md": 2,
  "docs/versions.md": 1,
  "docs/console.md": 2,
  "docs/run-it-day-by-day.md": 1,
  "docs/share-among-teams.md": 6,
  "docs/limits.md": 1,
  "docs/tenants-file.md": 2,
  "examples/express/README.md": 3,
  "examples/fastify/README.md": 3,
  "examples/callback-receiver/README.md": 2,
};

let here: Place;
before(async () => {
  here = await place();
});
atTheEnd(() => here?.[Symbol.asyncDispose]());

for (const [page, least] of Object.entries(pages)) {
  test(`what ${page} says to do does what it shows`, async () => {
    const commands = await followPage(page, here);
    assert.ok(commands >= least, `only ${commands} commands were found`);
  });
}
