import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const dist = join(import.meta.dirname, "../dist");
const assets = readdirSync(join(dist, "assets"));
const MOST_BYTES = 60_000;

test("all JavaScript of the console has at most 60 KB, gzipped", () => {
  const scripts = assets.filter((name) => name.endsWith(".js"));
  assert.ok(scripts.length >= 2, "the chart is read when it is needed");
  const sizes = scripts.map((name) => gzipSync(readFileSync(join(dist, "assets", name)), { level: 9 }).length);
  const sum = sizes.reduce((all, size) => all + size, 0);
  assert.ok(sum <= MOST_BYTES, `${sum} bytes in ${scripts.join(", ")}`);
});

test("the page has no inline script or style, and every address in it is relative", () => {
  const page = readFileSync(join(dist, "index.html"), "utf8");
  assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)/);
  assert.doesNotMatch(page, /<style|\sstyle=|\son\w+=/);
  const addresses = [...page.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
  assert.ok(addresses.length >= 3);
  for (const address of addresses) assert.match(address ?? "", /^\.\//);
});

test("every file but the page and its icon has a hash in its name", () => {
  for (const name of assets) assert.match(name, /-[\w-]{8}\.(js|css)$/);
  assert.deepEqual(readdirSync(dist).sort(), ["assets", "icon.svg", "index.html"]);
});

test("nothing built names a place outside of the installation", () => {
  for (const name of assets) {
    const text = readFileSync(join(dist, "assets", name), "utf8");
    const hosts = [...text.matchAll(/https?:\/\/([\w.-]+)/g)].map(([, host]) => host);
    const known = ["www.w3.org", "example.com", "you.example.com"];
    assert.deepEqual(
      hosts.filter((host) => !known.includes(host ?? "")),
      [],
      name,
    );
  }
});
