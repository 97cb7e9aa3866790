import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { specifiersIn } from "./support/specifiers.ts";

/** The files of the stages that say what a platform has to be: all that a platform may import of them. */
const ports = [
  "queue/job-queue.ts",
  "queue/job-history.ts",
  "deliver/result-store.ts",
  "deliver/findings.ts",
  "deliver/findings-topic.ts",
  "deliver/event-bus.ts",
  "deliver/signing-keys.ts",
  "deliver/callback-failures.ts",
  "deliver/object-actions.ts",
  "fetch/object-reader.ts",
  "fetch/object-lister.ts",
  "scan/usage-meter.ts",
  "guard/bookmarks.ts",
  "access/access-store.ts",
  "access/audit-log.ts",
  "access/shared-counts.ts",
];

/** What each platform has a file for, under this name; `objects` may be a folder with its door of that name in it. */
const adapters = [
  "platform",
  "job-queue",
  "dead-letters",
  "job-browser",
  "job-history",
  "results",
  "findings",
  "findings-topic",
  "event-bus",
  "signing-keys",
  "usage",
  "callback-failures",
  "bookmarks",
  "access-store",
  "audit-log",
  "shared-counts",
  "objects",
];
/** Where buckets are folders or any S3 endpoint, as `compose/` chooses. */
const withoutOwnObjects = ["platforms/postgres/objects.ts"];

/**
 * Who may import whom inside packages/server/src. A file belongs to the first folder of its path, or to itself when it
 * lies at the top; of platforms each is an owner of its own. Tests may import anything.
 */
const stages = ["receive", "queue", "fetch", "scan", "deliver"];
/** What stages say to those who trace: words only, which load nothing. */
const spans = "traces/spans.ts";
const below = ["model", "net", "flow", "log.ts", ...ports];
const platforms = [
  "platforms/embedded",
  "platforms/postgres",
  "platforms/aws",
  "platforms/shared",
  "platforms/platform.ts",
];
const mayImport: Record<string, readonly string[]> = {
  model: [],
  net: ["model", "flow"],
  flow: ["model"],
  receive: ["access", "model", "net", "flow", "log.ts", spans],
  queue: ["model", "flow", "log.ts", spans],
  fetch: ["model", "net", "flow", spans],
  scan: ["model", "flow"],
  access: ["model", "flow"],
  deliver: ["model", "net", "flow", "log.ts", spans],
  unpack: ["model"],
  engines: ["model", "flow", "scan", "unpack", "log.ts"],
  "platforms/platform.ts": [...ports, "platforms/shared"],
  "platforms/shared": below,
  "platforms/embedded": [...below, "platforms/platform.ts", "platforms/shared", "version.ts"],
  "platforms/postgres": [...below, "platforms/platform.ts", "platforms/shared", "version.ts"],
  "platforms/aws": [...below, "platforms/platform.ts", "platforms/shared"],
  settings: ["settings.ts", "net"],
  "settings.ts": [
    "settings",
    "log.ts",
    "engines",
    "net",
    "platforms/shared",
    "platforms/postgres/database/postgres-url.ts",
  ],
  "log.ts": ["flow"],
  metrics: ["flow", "log.ts", "model"],
  "version.ts": [],
  "index.ts": ["app.ts", "log.ts", "settings", "settings.ts", "version.ts"],
  traces: ["model", "net", "flow", "log.ts"],
  pipeline: ["model", "flow", ...stages, "log.ts", "metrics", spans],
  guard: ["model", "flow", "fetch", "pipeline"],
  admin: ["access", "model", "net", "flow", ...stages, "guard", "log.ts", spans],
  compose: [
    "access",
    "admin",
    "flow",
    "model",
    "net",
    ...stages,
    "guard",
    "engines",
    ...platforms,
    "metrics",
    "pipeline",
    "settings/console-settings.ts",
    "settings/settings-facts.ts",
    "settings.ts",
    "traces",
    "log.ts",
    "version.ts",
  ],
  "app.ts": [
    "access",
    "compose",
    "flow",
    "receive",
    "scan",
    "engines",
    "pipeline",
    "settings",
    "settings.ts",
    "log.ts",
    "metrics",
    "version.ts",
  ],
  cli: [
    "access",
    "app.ts",
    "compose",
    "engines",
    "platforms/embedded",
    "platforms/postgres",
    "platforms/shared",
    "queue",
    "scan",
    "guard",
    "deliver",
    "pipeline",
    "model",
    "flow",
    "settings",
    "settings.ts",
    "log.ts",
    "metrics",
    "version.ts",
  ],
  "main.ts": ["cli"],
  "lambda.ts": [
    "compose",
    "net",
    "queue",
    "receive",
    "deliver",
    "pipeline",
    "settings",
    "settings.ts",
    "log.ts",
    "version.ts",
  ],
};

/** Packages from npm, or all of one scope, and the folders that may use each. */
const packages: Record<string, readonly string[]> = {
  "@lazaret/contract": [
    "admin",
    "app.ts",
    "cli",
    "net",
    "receive",
    "fetch",
    "unpack",
    "deliver",
    "engines",
    // The steps of a job's life are what /admin/v1 says they are.
    "model",
    "platforms/embedded",
    "platforms/postgres",
    "platforms/aws",
    "platforms/shared",
    "compose",
    "pipeline",
    "settings.ts",
  ],
  "@lazaret/client": ["cli"],
  "@aws-sdk": ["platforms/aws"],
  pg: ["platforms/postgres"],
  nodemailer: ["platforms/shared"],
  "@opentelemetry": ["traces"],
  commander: ["cli"],
  yaml: ["access"],
  undici: ["net"],
  "ipaddr.js": ["net"],
  "@virustotal/yara-x": ["engines"],
  "7z-wasm": ["unpack"],
  "prom-client": ["metrics"],
};

interface Import {
  from: string;
  to: string;
}

const src = fileURLToPath(new URL("../src", import.meta.url));

test("every import follows the rules of direction", async () => {
  const imports = await importsOf(src);
  assert.ok(imports.length > 100, `the guard saw only ${imports.length} imports`);
  assert.deepEqual(
    imports.filter((each) => !allowed(each)),
    [],
  );
});

test("the guard sees a stage that imports another stage, and a package in the wrong place", () => {
  assert.equal(allowed({ from: "receive/api.ts", to: "fetch/http-download.ts" }), false);
  assert.equal(allowed({ from: "model/verdict.ts", to: "scan/engine.ts" }), false);
  assert.equal(allowed({ from: "receive/api.ts", to: "undici" }), false);
  assert.equal(allowed({ from: "app.ts", to: "left-pad" }), false);
  assert.equal(allowed({ from: "platforms/aws/results.ts", to: "platforms/embedded/results.ts" }), false);
  assert.equal(allowed({ from: "platforms/shared/page.ts", to: "platforms/embedded/results.ts" }), false);
  assert.equal(allowed({ from: "platforms/embedded/results.ts", to: "deliver/render.ts" }), false);
  assert.equal(allowed({ from: "platforms/embedded/results.ts", to: "deliver/result-store.ts" }), true);
  assert.equal(allowed({ from: "platforms/embedded/results.ts", to: "@aws-sdk/client-s3" }), false);
  assert.equal(allowed({ from: "platforms/embedded/results.ts", to: "pg" }), false);
  assert.equal(allowed({ from: "platforms/postgres/results.ts", to: "platforms/embedded/results.ts" }), false);
  assert.equal(allowed({ from: "receive/api.ts", to: "model/faults.ts" }), true);
});

test("each platform has a file for each port, under the port's name", async () => {
  const files = (await sources(src)).map((path) => relative(src, path));
  assert.deepEqual(missingAdapters(files), []);
  assert.deepEqual(
    ports.filter((port) => !files.includes(port)),
    [],
  );
  const half = files.filter((file) => !/aws\/usage\.ts$|^platforms\/embedded\/objects\//.test(file));
  assert.deepEqual(missingAdapters(half), ["platforms/aws/usage.ts", "platforms/embedded/objects.ts"]);
});

test("model has no I/O and the contract no dependencies", async () => {
  const model = (await importsOf(src)).filter(({ from }) => from.startsWith("model/"));
  assert.deepEqual(
    model.filter(({ to }) => to.startsWith("node:")),
    [],
  );
  const contract = await importsOf(fileURLToPath(new URL("../../contract/src", import.meta.url)));
  assert.ok(contract.length > 5);
  assert.deepEqual(
    contract.filter(({ to }) => to.startsWith("..") || !to.endsWith(".ts")),
    [],
  );
});

test("the client has no dependencies, and takes the wire from the contract in one file", async () => {
  const client = await importsOf(fileURLToPath(new URL("../../client/src", import.meta.url)));
  assert.ok(client.length > 50, `the guard saw only ${client.length} imports`);
  const outside = client.filter(({ to }) => to.startsWith("..") || !to.endsWith(".ts"));
  assert.deepEqual(
    outside.filter(({ from, to }) => from !== "wire.ts" || !to.startsWith("../../contract/src/")),
    [],
  );
});

test("what puts the service together has no time limits, waits or reports of its own: those are in pipeline/", async () => {
  const roots = (await sources(src)).filter((path) => /^(?:compose\/|app\.ts|lambda\.ts)/.test(relative(src, path)));
  assert.ok(roots.length > 5, `the guard saw only ${roots.length} files`);
  assert.deepEqual(
    roots.filter((path) => decides(readFileSync(path, "utf8"))).map((path) => relative(src, path)),
    [],
  );
  assert.equal(decides("using limit = timeLimit(15_000);"), true);
  assert.equal(decides('const verdict = { kind: "unscannable", finding } as const;'), true);
  assert.equal(decides("const timer = setInterval(check, everyMs);"), true);
  assert.equal(decides("const WAIT_SECONDS = 5;"), true);
});

function decides(text: string): boolean {
  return /\b(?:timeLimit|setTimeout|setInterval)\(|kind: "(?:clean|unscannable|again|buried)"|const \w+_(?:MS|SECONDS|BYTES|AT_ONCE)\b/.test(
    text,
  );
}

test("no source file uses AbortSignal.timeout or AbortSignal.any, which cannot be let go: flow/time-limit.ts can", async () => {
  const using = (await sources(src)).filter((path) => usesSystemLimits(readFileSync(path, "utf8")));
  assert.deepEqual(
    using.map((path) => relative(src, path)),
    [],
  );
});

test("the guard sees a limit of the system, and not one that a comment speaks of", () => {
  assert.equal(usesSystemLimits('fetch("http://x/*", { signal: AbortSignal.timeout(1000) });'), true);
  assert.equal(usesSystemLimits("  const { any } = AbortSignal;"), true);
  assert.equal(
    usesSystemLimits(" * `AbortSignal.any` is not used\n// AbortSignal.timeout neither\nsignal: AbortSignal): void"),
    false,
  );
});

test("what the service loads takes types alone from node:http: an import loads all of fetch with it, net/node-http.ts does not", async () => {
  const importing = (await sources(src)).filter((path) => importsHttp(readFileSync(path, "utf8")));
  // A command that calls servers by fetch itself.
  assert.deepEqual(
    importing.map((path) => relative(src, path)),
    ["cli/callback/receiver.ts"],
  );
});

test("the guard sees an import of node:http, over several lines as well, and not one of its types", () => {
  assert.equal(importsHttp('import { createServer } from "node:http";'), true);
  assert.equal(importsHttp('import {\n  Agent,\n  type Server,\n} from "node:http";'), true);
  assert.equal(importsHttp('import type { Server } from "node:http";\nimport { a } from "b";'), false);
});

function importsHttp(text: string): boolean {
  return /^import (?!type\b)[^;]*? from "node:http";/m.test(text);
}

function usesSystemLimits(text: string): boolean {
  const code = text.replace(/^\s*(?:\/?\*|\/\/).*$|\s\/\/\s.*$/gm, "");
  return /AbortSignal\s*\??\.\s*(?:timeout|any)\b|=\s*AbortSignal\s*[;,)]/.test(code);
}

function allowed({ from, to }: Import): boolean {
  if (to.startsWith("node:")) return true;
  const owner = ownerOf(from);
  if (!to.endsWith(".ts")) return (packages[packageName(to)] ?? packages[ownerOf(to)])?.includes(owner) ?? false;
  const target = ownerOf(to);
  return owner === target || [target, to].some((each) => mayImport[owner]?.includes(each));
}

function ownerOf(path: string): string {
  const [first = path, second = ""] = path.split("/");
  return first === "platforms" ? `${first}/${second}` : first;
}

/** Whatever lies beside `shared` is a platform. */
function missingAdapters(files: readonly string[]): string[] {
  const owners = new Set(files.filter((file) => /^platforms\/[^/]+\//.test(file)).map(ownerOf));
  owners.delete("platforms/shared");
  const expected = [...owners].sort().flatMap((owner) => adapters.map((name) => `${owner}/${name}.ts`));
  const has = (file: string): boolean => files.includes(file) || files.includes(doorOf(file));
  return expected.filter((file) => !has(file) && !withoutOwnObjects.includes(file));
}

/** `objects.ts` may be `objects/objects.ts`. */
function doorOf(file: string): string {
  return file.replace(/([^/]+)\.ts$/, "$1/$1.ts");
}

function packageName(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

async function sources(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true });
  return entries.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts")).map((name) => join(folder, name));
}

async function importsOf(folder: string): Promise<Import[]> {
  return (await sources(folder)).flatMap((path) => {
    return specifiersIn(readFileSync(path, "utf8")).map((specifier) => {
      const to = specifier.startsWith(".") ? relative(folder, join(dirname(path), specifier)) : specifier;
      return { from: relative(folder, path), to };
    });
  });
}
