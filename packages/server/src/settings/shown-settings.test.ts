import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "./read-settings.ts";
import { shownSettings } from "./shown-settings.ts";

test("a password in an address is shown to nobody, though the setting is no secret", () => {
  const env = {
    LAZARET_S3_ENDPOINT: "https://me:pass@word@store.example:9000/x",
    LAZARET_PUBLIC_URL: "https://a.example/@b",
  };
  const read = readSettings({ flags: {}, env, file: {} });
  assert.ok("settings" in read);
  const shown = Object.fromEntries(shownSettings(read.settings).map(({ name, value }) => [name, value]));
  assert.equal(shown.s3Endpoint, "https://(hidden)@store.example:9000/x");
  assert.equal(shown.publicUrl, "https://a.example/@b");
});
