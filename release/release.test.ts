import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { atTheEnd, temporaryFolder } from "../packages/server/test/support/leftovers.ts";
import { missingBeside } from "./compile.ts";
import { topOfChangelog, versionAsked } from "./new-version.ts";
import { run } from "./project.ts";
import { type ReleaseOptions, release } from "./release.ts";
import { billOfMaterials } from "./sbom.ts";

const folder = temporaryFolder();
atTheEnd(() => folder[Symbol.dispose]());
const EPOCH = 1_800_000_000;

/** A clone with what a release changes, and one commit. */
function clone(name: string): { root: string; git(...args: string[]): string } {
  const root = join(folder.path, name);
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const own = { version: "0.1.0", dependencies: { "@lazaret/contract": "0.1.0", yaml: "2.9.1" } };
  const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  put("package.json", json({ name: "all", version: "0.1.0" }));
  put("packages/server/package.json", json({ name: "lazaret", ...own }));
  put("package-lock.json", json({ version: "0.1.0", packages: { "": { version: "0.1.0" }, "packages/server": own } }));
  put("deploy/helm/lazaret/Chart.yaml", 'name: lazaret\nversion: 0.1.0\nappVersion: "0.1.0"\n');
  put("CHANGELOG.md", "# Changelog\n\n## 0.2.0 (unreleased)\n\n- it purrs\n\n## 0.1.0 (2026-01-01)\n\n- it is\n");
  const git = (...args: string[]): string => run("git", args, { cwd: root }).trim();
  run("git", ["init", "--quiet", root], { cwd: folder.path });
  git("config", "user.name", "Test");
  git("config", "user.email", "test@example.com");
  git("add", ".");
  git("commit", "--quiet", "--message", "all");
  return { root, git };
}

function options(root: string, more: Partial<ReleaseOptions> = {}): ReleaseOptions & { said: string[] } {
  const said: string[] = [];
  return {
    root,
    out: join(folder.path, "out"),
    dryRun: false,
    epochSeconds: EPOCH,
    async build(out, version, epoch) {
      writeFileSync(join(out, `lazaret-${version}.tgz`), String(epoch));
    },
    afterWriting: () => {},
    say: (line) => said.push(line),
    said,
    ...more,
  };
}

test("a dry run makes everything and changes nothing of the clone", async () => {
  const { root, git } = clone("dry");
  const given = options(root, { dryRun: true });
  await release(given);
  assert.deepEqual([git("status", "--porcelain"), git("tag")], ["", ""]);
  assert.ok(given.said.includes("would change packages/server/package.json"), given.said.join("\n"));
  assert.equal(readFileSync(join(given.out, "release-notes-0.2.0.md"), "utf8"), "# Lazaret 0.2.0\n\n- it purrs\n");
  run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: given.out });
});

test("a release writes its version everywhere and the day into the changelog, commits, tags, and says what publishes it", async () => {
  const { root, git } = clone("real");
  const given = options(root);
  await release(given);
  assert.equal(git("log", "-1", "--format=%s %ct"), `release: 0.2.0 ${EPOCH}`);
  assert.deepEqual([git("tag"), git("status", "--porcelain")], ["v0.2.0", ""]);
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  const { version, dependencies } = JSON.parse(read("packages/server/package.json"));
  assert.deepEqual([version, dependencies], ["0.2.0", { "@lazaret/contract": "0.2.0", yaml: "2.9.1" }]);
  assert.equal(JSON.parse(read("package-lock.json")).packages["packages/server"].version, "0.2.0");
  assert.match(read("deploy/helm/lazaret/Chart.yaml"), /^version: 0\.2\.0\nappVersion: "0\.2\.0"$/m);
  assert.match(read("CHANGELOG.md"), /^## 0\.2\.0 \(2027-01-15\)$/m);
  assert.match(
    given.said.join("\n"),
    /git push origin HEAD v0\.2\.0\n {2}npm publish .*lazaret-0\.2\.0\.tgz --access public/,
  );

  await assert.rejects(release(options(root)), /v0\.2\.0 is there already/);
  await release(options(root, { dryRun: true, epochSeconds: undefined }));
  assert.equal(
    readFileSync(join(given.out, "lazaret-0.2.0.tgz"), "utf8"),
    String(EPOCH),
    "the tag gives the same bytes",
  );
});

test("a release that fails leaves the clone as it was, and one of a changed clone does not begin", async () => {
  const { root, git } = clone("failing");
  const afterWriting = (): void => {
    throw new Error("no Go here");
  };
  await assert.rejects(release(options(root, { afterWriting })), /no Go here/);
  assert.deepEqual([git("status", "--porcelain"), git("tag")], ["", ""]);
  writeFileSync(join(root, "stray"), "");
  await assert.rejects(release(options(root)), /changes that are in no commit/);
});

test("versions are counted from the changelog's, or taken as they are given", () => {
  const top = topOfChangelog("## 1.2.3 (unreleased)\n\n- new\n");
  const asked = [undefined, "major", "minor", "patch", "2.0.0-rc.1"].map((each) => versionAsked(each, top));
  assert.deepEqual(asked, ["1.2.3", "2.0.0", "1.3.0", "1.2.4", "2.0.0-rc.1"]);
  assert.throws(() => versionAsked("newest", top), /newest is no version/);
});

test("the bill of materials names what is installed with the service and what is inside it, and is the same each time", async () => {
  const make = (): Promise<string> => billOfMaterials(["packages/server", "packages/console"], "1.2.3", EPOCH);
  const text = await make();
  assert.equal(text, await make());
  const { components, metadata, dependencies } = JSON.parse(text);
  assert.equal(metadata.component.purl, "pkg:npm/lazaret@1.2.3");
  assert.equal(metadata.timestamp, new Date(EPOCH * 1000).toISOString());
  const names = components.map(({ group, name }: { group?: string; name: string }) =>
    group ? `${group}/${name}` : name,
  );
  for (const name of ["undici", "@virustotal/yara-x", "preact", "@aws-sdk/core"]) assert.ok(names.includes(name), name);
  for (const name of ["vite", "typescript", "@lazaret/contract"]) assert.ok(!names.includes(name), name);
  const undici = components.find(({ name }: { name: string }) => name === "undici");
  assert.match(undici.hashes[0].content, /^[0-9a-f]{128}$/);
  const own = dependencies.find(({ ref }: { ref: string }) => ref === metadata.component.purl);
  assert.ok(own.dependsOn.includes(undici.purl));
});

test("a program that names a file beside it which is not carried is found", () => {
  const place = join(folder.path, "beside");
  mkdirSync(join(place, "rules"), { recursive: true });
  writeFileSync(join(place, "rules/one.yar"), "");
  const named = ["./rules", "./thread.js"].map((name) => `new URL("${name}", import.meta.url);`);
  writeFileSync(join(place, "program.js"), named.join("\n"));
  assert.deepEqual(missingBeside(place), ["program.js → thread.js"]);
});
