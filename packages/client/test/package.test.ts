import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { signatureVectorKeys, signatureVectors } from "@lazaret/contract/signature-vectors";
import { problemsOf } from "../../../release/checks.ts";
import { stageClient } from "../../../release/client-package.ts";
import { pack } from "../../../release/pack.ts";
import { type FileServer, fileServer } from "../../server/test/support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../../server/test/support/leftovers.ts";
import { type TestService, testKey, testService } from "../../server/test/support/service.ts";
import { oldestNode, otherRuntimes, type Runtime } from "./runtimes.ts";

const here = fileURLToPath(new URL("..", import.meta.url));
const root = join(here, "../..");
const folder = temporaryFolder();
const app = join(folder.path, "app");
const installed = join(app, "node_modules/@lazaret/client");
const oldest = oldestNode();
let tarball: string;
let service: TestService;
let files: FileServer;

/** Nothing of LAZARET_* and npm's own settings, and a cache and home that go away with the folder. */
function environment(more: Record<string, string> = {}): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(LAZARET_|npm_|NODE_)/i.test(name));
  const ours = { HOME: folder.path, DENO_DIR: folder.path, DENO_NO_UPDATE_CHECK: "1", DO_NOT_TRACK: "1" };
  return { ...Object.fromEntries(kept), ...ours, ...more };
}

/** Not by execFileSync: the service that is asked lives in this process. */
async function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { cwd: app, env: environment(env) });
  return stdout;
}

function npm(...args: readonly string[]): Promise<string> {
  const [program, first] = process.env.npm_execpath ? [process.execPath, [process.env.npm_execpath]] : ["npm", []];
  const quiet = ["--no-audit", "--no-fund", "--offline", "--ignore-scripts", `--cache=${join(folder.path, "cache")}`];
  return run(program, [...first, ...args, ...quiet]);
}

const use = async (runtime: Runtime, program: string): Promise<Record<string, unknown>> => {
  const env = {
    LAZARET_URL: service.url,
    LAZARET_API_KEY: testKey,
    FILE_URL: `${files.origin}/clean`,
    CASE: JSON.stringify({
      path: join(app, "file.txt"),
      vector: { ...signatureVectors[1], publicPemPkcs1: signatureVectorKeys.publicPemPkcs1 },
    }),
  };
  return JSON.parse(await run(runtime.program, [...runtime.args, join(app, program)], env));
};

before(async () => {
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), '{ "type": "module", "private": true }');
  writeFileSync(join(app, "file.txt"), "text");
  for (const name of ["use.mjs", "use.cjs", "use.ts", "use.cts"])
    copyFileSync(join(here, "test/package", name), join(app, name));
  stageClient(join(folder.path, "package"), "0.1.0");
  tarball = pack(join(folder.path, "package"), folder.path);
  await npm("install", tarball);
  service = await testService({ engine: "P", clamd: "none", concurrency: 2 });
  files = await fileServer();
});
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => files?.[Symbol.asyncDispose]());
atTheEnd(() => service?.[Symbol.asyncDispose]());

test("the packed package has nothing that publint or arethetypeswrong would change", async () => {
  assert.deepEqual(await problemsOf(tarball), []);
});

test("built again in another folder, it is the same to the last byte", () => {
  const again = join(folder.path, "another/place");
  stageClient(again, "0.1.0");
  const contents = (place: string): string[][] =>
    packedFiles(place).map((name) => [relative(place, name), readFileSync(name, "utf8")]);
  assert.deepEqual(contents(again), contents(join(folder.path, "package")));
});

test("the packed package has programs, declarations, maps, a licence and a page, no dependencies and no test keys", () => {
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  for (const name of ["dependencies", "devDependencies", "private", "scripts"]) assert.ok(!(name in manifest), name);
  const names = packedFiles();
  assert.ok(names.length > 100);
  const others = names.filter((name) => !/\.(js|js\.map|d\.ts)$|\/(package\.json|README\.md|LICENSE)$/.test(name));
  assert.deepEqual(others, []);
  for (const name of names) {
    const text = readFileSync(name, "utf8");
    assert.doesNotMatch(text, /PRIVATE KEY-----\n|@lazaret\/contract|from "[^"]*\.ts"/, name);
    assert.ok(!text.includes(root) && !text.includes(folder.path), `${name} tells where it was built`);
  }
  assert.deepEqual(readdirSync(join(app, "node_modules/@lazaret")), ["client"]);
});

test("the packed package needs nothing of Node in other runtimes, and none of its types", () => {
  const onlyInNode = /\b(Buffer|NodeJS|__dirname|require|setImmediate)\b|(?<!globalThis\.)\bprocess\.|"node:/;
  const using = packedFiles()
    .filter((name) => /\/esm\/.*\.(js|d\.ts)$/.test(name))
    .filter((name) => onlyInNode.test(withoutComments(readFileSync(name, "utf8"))));
  assert.deepEqual(
    using.map((name) => relative(installed, name)),
    // Imports node:fs/promises when it is given a path.
    ["esm/client/src/file/open-file.js"],
  );
});

function packedFiles(place = installed): string[] {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

const result = { status: "clean", size: 4, realfiletype: "ASCII text" };
for (const runtime of [oldest, ...otherRuntimes()]) {
  test(`the packed package works from plain JavaScript in ${runtime.name}`, async () => {
    assert.deepEqual(await use(runtime, "use.mjs"), {
      fromPath: result,
      fromBytes: result,
      fromBlob: result,
      fromWebStream: result,
      fromNodeStream: result,
      fromForm: result,
      sent: 4,
      allClean: 6,
      job: { status: "clean", size: 10, realfiletype: "ASCII text" },
      wrongKey: [true, "invalid_api_key"],
      callback: "infected",
      forged: "bad_signature",
    });
  });
}

test(`the packed package works by require() in ${oldest.name}`, async () => {
  const seen = await use(oldest, "use.cjs");
  assert.deepEqual(seen, { clean: true, size: 4, refused: [true, "invalid_api_key"] });
});

/** With a browser's declarations and without Node's, and the other way round. */
const worlds: Record<string, object> = {
  "the DOM's types": { module: "nodenext", lib: ["es2022", "dom"], types: [] },
  "Node's types": { module: "nodenext", lib: ["es2022"], types: ["node"], typeRoots: [typesIn("")] },
};
for (const [name, options] of Object.entries(worlds)) {
  test(`the packed package works from strict TypeScript with ${name}, and the program in ${oldest.name}`, async () => {
    await compile("", options);
    assert.deepEqual(await use(oldest, "use.js"), {
      described: "clean, 4 bytes",
      narrowed: "clean",
      wrong: "401 invalid_api_key",
    });
  });
}

const oldestTypes = { types: ["node"], typeRoots: [typesIn("release/oldest")] };
const oldestWorlds: Record<string, object> = {
  "module node16, ESM and CommonJS": { module: "node16", lib: ["es2022"], ...oldestTypes },
  "moduleResolution bundler": { module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom"], types: [] },
};
for (const [name, options] of Object.entries(oldestWorlds)) {
  test(`its declarations hold for TypeScript 5.4 with ${name}`, async () => {
    const programs = name.endsWith("CommonJS") ? ["use.ts", "use.cts"] : ["use.ts"];
    await compile("release/oldest", { ...options, noEmit: true }, programs);
  });
}

function typesIn(place: string): string {
  return join(root, place, "node_modules/@types");
}

/** Compiles programs as strictly as can be, by the compiler of this folder of the project. */
async function compile(place: string, options: object, files: readonly string[] = ["use.ts"]): Promise<void> {
  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    target: "es2022",
  };
  const project = { compilerOptions: { ...strict, ...options }, files };
  writeFileSync(join(app, "tsconfig.json"), JSON.stringify(project));
  await run(process.execPath, [join(root, place, "node_modules/typescript/bin/tsc"), "-p", app]);
}
