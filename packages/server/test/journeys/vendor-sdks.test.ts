import assert from "node:assert/strict";
import { test } from "node:test";
import { anyEngineInEnvironment } from "../support/clamd.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { testPostgres } from "../support/postgres.ts";
import { runCli } from "../support/run-cli.ts";

/** Says at the end which packages of npm the process has loaded. */
const watcher = `
  import { writeSync } from "node:fs";
  import { registerHooks } from "node:module";
  const loaded = new Set();
  registerHooks({
    load(url, context, next) {
      const found = url.match(/.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//);
      if (found) loaded.add(found[1]);
      return next(url, context);
    },
  });
  process.on("exit", () => writeSync(2, "loaded: " + [...loaded].join(" ") + "\\n"));
`;

async function packagesLoaded(env: Record<string, string>): Promise<string[]> {
  using folder = temporaryFolder();
  await using run = runCli(["serve"], {
    cwd: folder.path,
    env: {
      LAZARET_API_KEYS: "key-of-the-sdk-test",
      ...(await anyEngineInEnvironment()),
      LAZARET_HOST: "127.0.0.1",
      LAZARET_PORT: "0",
      LAZARET_DRAIN_SECONDS: "0",
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(watcher)}`,
      ...env,
    },
  });
  await run.says(/"event":"listening"/);
  run.child.kill("SIGTERM");
  assert.equal(await run.ended(), 0);
  return [...run.stderr.matchAll(/^loaded: (.*)$/gm)].flatMap(([, names = ""]) => names.split(" "));
}

/** What prom-client loads of OpenTelemetry is words without anything behind them. */
const ofVendors = (names: readonly string[]): string[] =>
  names.filter((name) => /^(@(aws-sdk|smithy)\/|@opentelemetry\/(?!api$)|pg)/.test(name));

test("the embedded service loads no SDK of a vendor, no driver of a database and nothing of OpenTelemetry", async () => {
  const loaded = await packagesLoaded({ LAZARET_ENGINE: "P" });
  assert.ok(loaded.includes("undici"), `only ${loaded} were seen`);
  assert.deepEqual(ofVendors(loaded), []);
});

test("one on PostgreSQL loads its driver, and no SDK of a vendor", async () => {
  await using server = await testPostgres();
  const loaded = ofVendors(
    await packagesLoaded({
      LAZARET_PLATFORM: "postgres",
      LAZARET_POSTGRES_URL: server.url,
      LAZARET_SECRET_KEY: "5e".repeat(32),
    }),
  );
  assert.ok(loaded.includes("pg"), `only ${loaded} were seen`);
  assert.deepEqual(
    loaded.filter((name) => name.startsWith("@")),
    [],
  );
});

test("one that keeps objects on S3 loads the SDK of S3, and of no other service", async () => {
  const loaded = ofVendors(await packagesLoaded({ LAZARET_S3_ENDPOINT: "http://127.0.0.1:1" }));
  assert.deepEqual(
    loaded.filter((name) => name.startsWith("@aws-sdk/client-")),
    ["@aws-sdk/client-s3"],
  );
});
