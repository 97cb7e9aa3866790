import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { EVENT_SOURCE, findings } from "@lazaret/contract";
import { publicKeyParameters } from "../../src/deliver/signing-keys.ts";
import { logEvents } from "../../src/log.ts";
import { catalog, type MetricSpec } from "../../src/metrics/catalog.ts";
import { noteOf } from "../../src/model/report.ts";
import { envName, settingNames } from "../../src/settings/read-settings.ts";
import { settingsPage } from "../../src/settings/settings-page.ts";
import { settingsTable } from "../../src/settings.ts";
import { root } from "./place.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");

async function markdown(): Promise<string[]> {
  const folders = ["docs", "examples"].map(async (folder) =>
    (await readdir(join(root, folder), { recursive: true })).map((name) => join(folder, name)),
  );
  const pages = [...(await Promise.all(folders)).flat(), "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
  return pages.filter((name) => name.endsWith(".md") && !name.includes("node_modules"));
}

test("docs/settings.md is what the settings table says", () => {
  assert.equal(read("docs/settings.md"), settingsPage());
});

/** The rows of the table in docs/logs.md, and the names of the events in each. */
function logRows(): { row: string; events: string[] }[] {
  const lines = read("docs/logs.md").split("\n");
  return lines
    .slice(lines.indexOf("| event | level | when | fields |") + 2, lines.indexOf("## Metrics"))
    .filter((line) => line.startsWith("| `"))
    .map((row) => ({ row, events: (row.split("|")[1] ?? "").match(/\w+/g) ?? [] }));
}

test("docs/logs.md has every event of the log, and no other", () => {
  assert.deepEqual(
    logRows()
      .flatMap(({ events }) => events)
      .toSorted(),
    logEvents.toSorted(),
  );
  assert.deepEqual(
    logEvents.filter((name) => !/^[a-z]+(?:_[a-z]+)*$/.test(name)),
    [],
  );
});

test("docs/logs.md has every field that is written with an event, in its row", () => {
  const src = "packages/server/src";
  const clean = { verdict: { kind: "clean" }, sizeBytes: 0, downloadSeconds: 0, scanSeconds: 0 } as const;
  const sources = readdirSync(join(root, src), { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  );
  const ofFiles = /^\| `verdict`.*$/m.exec(read("docs/logs.md"))?.[0] ?? "";
  const ofReports = Object.keys(noteOf(clean)).filter((field) => !ofFiles.includes(`\`${field}\``));
  const written = [
    ...sources.flatMap((name) => loggedFields(read(join(src, name)))),
    ...["request", "job"].flatMap((event) => ofReports.map((field) => [event, field] as const)),
  ];
  assert.ok(written.length > 70, `only ${written.length} fields`);
  const missing = written.filter(([event, field]) =>
    logRows().some(({ row, events }) => events.includes(event) && !row.includes(`\`${field}\``)),
  );
  assert.deepEqual(missing, []);
  const call = 'log.error("queue", { error: why(a, { b }), ...more, hint }); say("request", fields);';
  assert.deepEqual(loggedFields(call), [
    ["queue", "error"],
    ["queue", "hint"],
  ]);
});

/** Events that are logged with fields that stand there, and each of these. */
function loggedFields(source: string): [event: string, field: string][] {
  return [...source.matchAll(/(?<!\brun)\(\s*"(\w+)",\s*\{/g)].flatMap(({ 0: start, 1: event = "", index }) => {
    if (!logEvents.some((name) => name === event)) return [];
    let fields = "";
    for (let at = index + start.length, depth = 1; depth > 0; at += 1) {
      const letter = source[at] ?? "}";
      if ("{([".includes(letter)) depth += 1;
      if ("})]".includes(letter)) depth -= 1;
      if (depth === 1) fields += letter;
    }
    const lines = fields.replaceAll(/\/\/.*/g, "").split(",");
    return lines.flatMap((line) => (/^\s*(\w+)/.exec(line) ?? []).slice(1).map((field) => [event, field] as const));
  }) as [string, string][];
}

test("docs/logs.md says for each event at which levels it is written", () => {
  const src = "packages/server/src";
  const sources = readdirSync(join(root, src), { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  );
  const written = sources.flatMap((name) =>
    [...read(join(src, name)).matchAll(/\blog(?:\.(error|debug))?\(\s*"(\w+)"/g)].map(([, level = "info", event]) => ({
      level,
      event,
    })),
  );
  assert.ok(written.length > 40, `only ${written.length} lines`);
  const wrong = written.filter(({ level, event = "" }) =>
    logRows().some(({ row, events }) => events.includes(event) && !row.split("|")[2]?.includes(level)),
  );
  assert.deepEqual(wrong, []);
});

test("every event of the log that a page names is one", async () => {
  const wrong: string[] = [];
  for (const page of await markdown()) {
    const named = read(page).matchAll(/(?:log line,?|logged as|lines?) `([\w -]+)`/g);
    for (const [said, name] of named) if (!logEvents.some((event) => event === name)) wrong.push(`${page}: ${said}`);
  }
  assert.deepEqual(wrong, []);
});

test("docs/monitoring.md has the table of metrics, as the code has it", () => {
  const rows = Object.entries<MetricSpec>(catalog).map(([name, { type, help, labels = [] }]) => {
    const shown = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${shown} | ${help} |`;
  });
  assert.ok(rows.length > 35, `only ${rows.length} metrics`);
  const shown = read("docs/monitoring.md")
    .split("\n")
    .filter((line) => /^\| `lazaret_\w+` \| (?:counter|gauge|histogram) /.test(line));
  assert.deepEqual(shown, rows);
});

test("every metric that a page names is one", async () => {
  const wrong: string[] = [];
  for (const page of await markdown()) {
    for (const [, name = "", rest] of read(page).matchAll(/`(lazaret_[a-z_]+)(\*?)/g)) {
      const base = name.replace(/_(?:bucket|sum|count)$/, "");
      const known = Object.keys(catalog).some((each) =>
        rest ? each.startsWith(name) : each === name || each === base,
      );
      if (!known && /^lazaret_(?!at$)/.test(name)) wrong.push(`${page}: ${name}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("every setting that the docs name is one", async () => {
  const known = new Set([...settingNames.map(envName), ...settingNames.map((name) => `${envName(name)}_FILE`)]);
  // The client's own, and what examples and tests of theirs read.
  for (const name of ["LAZARET_URL", "LAZARET_API_KEY", "LAZARET_X_FILE"]) known.add(name);
  const wrong: string[] = [];
  for (const page of await markdown()) {
    for (const [name] of read(page).matchAll(/\bLAZARET_[A-Z0-9_]*[A-Z0-9]\b/g)) {
      if (!known.has(name)) wrong.push(`${page}: ${name}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("docs/moving-to-lazaret.md names the tag key, event source, findings and public keys as they are", () => {
  const page = read("docs/moving-to-lazaret.md");
  const [pkcs1, x509] = publicKeyParameters("<stack name>", { pkcs1: "", x509: "" }).map(({ name }) => name);
  const said = [
    `the key is \`${settingsTable.tagKey.default}\``,
    `s3:ExistingObjectTag/${settingsTable.tagKey.default}"`,
    `"source": ["${EVENT_SOURCE}"]`,
    findings.tooBig,
    findings.downloadFailed,
    findings.callbackFailed,
    x509 ?? "?",
    (pkcs1 ?? "?").split("/").at(-1) ?? "",
    "LAZARET_TAG_KEY",
  ];
  assert.deepEqual(
    said.filter((words) => !page.includes(words)),
    [],
  );
});

test("every link inside the docs leads somewhere, to a heading as well", async () => {
  const broken: string[] = [];
  for (const page of await markdown()) {
    for (const [, target = "", anchor] of read(page).matchAll(/\]\(([^)#\s]*)(?:#([^)]*))?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const path = target === "" ? page : join(dirname(page), target);
      const found = existsSync(join(root, path)) && (!anchor || !path.endsWith(".md") || anchors(path).has(anchor));
      if (!found) broken.push(`${page} → ${target}${anchor ? `#${anchor}` : ""}`);
    }
  }
  assert.deepEqual(broken, []);
});

/** The names that GitHub gives to the headings of a page. */
function anchors(page: string): Set<string> {
  const headings = read(page)
    .replaceAll(/^```[\s\S]*?^```/gm, "")
    .matchAll(/^#+ (.+)$/gm);
  return new Set(
    Array.from(headings, ([, text = ""]) =>
      text
        .toLowerCase()
        .replaceAll(/\]\([^)]*\)|[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

test("the examples ask for the versions that they are tested with", async () => {
  const dependencies = (path: string): Record<string, string> => {
    const manifest = JSON.parse(read(path));
    return { ...manifest.dependencies, ...manifest.devDependencies };
  };
  const tested = { ...dependencies("package.json"), ...dependencies("packages/server/package.json") };
  const examples = (await readdir(join(root, "examples"), { withFileTypes: true })).filter((each) =>
    each.isDirectory(),
  );
  assert.ok(examples.length >= 5, `only ${examples.length} examples`);
  for (const { name } of examples) {
    for (const [wanted, version] of Object.entries(dependencies(`examples/${name}/package.json`))) {
      assert.equal(version, tested[wanted], `${wanted} in examples/${name}`);
    }
  }
});

test("no file of the repository holds the whole EICAR test string", () => {
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root })
    .toString()
    .split("\n")
    .filter((name) => name !== "" && existsSync(join(root, name)));
  const whole = ["EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE"].join("");
  assert.ok(files.length > 100);
  assert.deepEqual(
    files.filter((name) => readFileSync(join(root, name), "latin1").includes(whole)),
    [],
  );
});

test("the server's address and the key have one name each, LAZARET_URL and LAZARET_API_KEY", async () => {
  const folders = ["packages/server/src/receive", "packages/server/src/cli"].map(async (folder) =>
    (await readdir(join(root, folder), { recursive: true })).map((name) => join(folder, name)),
  );
  const sources = (await Promise.all(folders)).flat().filter((name) => name.endsWith(".ts"));
  assert.ok(sources.length > 50);
  const others = [...(await markdown()), ...sources].filter((path) =>
    /\$(?:URL|KEY|API_KEY)\b|\bexport URL=/.test(read(path)),
  );
  assert.deepEqual(others, []);
});

test("docs/api.md names every finding of a file that was not scanned, and the guide for uploads what to do about them", () => {
  const api = read("docs/api.md");
  const inCallbacks = findings.callbackFailed;
  const unnamed = Object.values(findings).filter((name) => name !== inCallbacks && !api.includes(`\`${name}\``));
  assert.deepEqual(unnamed, []);
  for (const page of [api, read("docs/scan-uploads.md")]) {
    for (const prefix of ["Heuristics.Encrypted.", "Heuristics.Limits."]) assert.ok(page.includes(prefix), prefix);
    for (const question of ["isEncrypted", "isTooBig", "isOverLimits"]) assert.ok(page.includes(question), question);
  }
});

for (const [folder, leastPlatforms] of [
  [".", 21],
  ["bench", 6],
  ["deploy/cdk", 0],
] as const) {
  test(`the lock file of ${folder} names no registry, and has an entry for every platform's packages`, () => {
    const { packages } = JSON.parse(read(join(folder, "package-lock.json"))) as {
      packages: Record<string, { resolved?: string; optionalDependencies?: Record<string, string> }>;
    };
    const resolved = Object.values(packages).flatMap((entry) => entry.resolved ?? []);
    assert.deepEqual(
      resolved.filter((address) => address.includes(":")),
      [],
    );
    const wanted = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
    assert.ok(wanted.length >= leastPlatforms);
    assert.deepEqual(
      wanted.filter((name) => !Object.keys(packages).some((path) => path.endsWith(`node_modules/${name}`))),
      [],
    );
  });
}
