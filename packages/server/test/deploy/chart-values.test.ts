import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { Ajv } from "ajv";
import { parse } from "yaml";
import { settingsTable } from "../../src/settings.ts";
import { testClamd } from "../support/clamd.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { testKey, testService } from "../support/service.ts";
import { everythingRendered, projectFile, projectPath } from "./rendered-objects.ts";

type Values = { [name: string]: unknown };

const schema = JSON.parse(projectFile("deploy/helm/lazaret/values.schema.json"));
const valid = new Ajv({ allErrors: true, strictTypes: false }).compile(schema);
const defaults = parse(projectFile("deploy/helm/lazaret/values.yaml"));

/** Helm merges maps, and null removes. */
function merged(base: Values, over: Values): Values {
  const result = { ...base };
  for (const [name, value] of Object.entries(over)) {
    if (value === null) delete result[name];
    else result[name] = isMap(value) && isMap(base[name]) ? merged(base[name], value) : value;
  }
  return result;
}

function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function problems(over: Values): string[] {
  return valid(merged(defaults, over))
    ? []
    : (valid.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

test("the values that come with the chart are good values", () => {
  assert.deepEqual(problems({}), []);
  for (const folder of ["deploy/helm/values", "deploy/helm/variants"])
    for (const name of readdirSync(projectPath(folder)))
      assert.deepEqual(problems(parse(projectFile(`${folder}/${name}`))), [], name);
});

test("values that cannot work are refused before anything is made", () => {
  const fleet = { platform: "postgres", secrets: { files: { postgresUrl: "url", secretKey: "key" } } };
  assert.deepEqual(problems(fleet), []);
  const wrong: [what: string, values: Values, problem: string][] = [
    ["a name that is no value", { replicaCount: 2 }, " must NOT have additional properties"],
    ["a second embedded pod", { embedded: { replicas: 2 } }, "/embedded must NOT have additional properties"],
    ["an embedded pod that scales", { autoscaling: { kind: "hpa" } }, "/autoscaling/kind must be equal to constant"],
    [
      "a fleet without its database",
      { platform: "postgres" },
      "/secrets/files must have required property 'postgresUrl'",
    ],
    ["AWS without a queue", { platform: "aws" }, "/settings must have required property 'awsQueueUrl'"],
    [
      "a secret among the settings",
      { settings: { apiKeys: "in-the-release-history" } },
      "/settings property name must be valid",
    ],
    ["a setting that the chart makes", { settings: { port: 9000 } }, "/settings property name must be valid"],
    [
      "a file for what is no secret",
      { secrets: { files: { port: "port" } } },
      "/secrets/files property name must be valid",
    ],
    [
      "a setting among other variables",
      { environment: { LAZARET_PORT: "1" } },
      "/environment property name must be valid",
    ],
    ["a moving image", { image: { tag: "latest" } }, "/image/tag must NOT be valid"],
    [
      "less time to end than the service takes",
      { terminationGracePeriodSeconds: 10 },
      "/terminationGracePeriodSeconds must be >= 30",
    ],
    ["root", { users: { service: 0 } }, "/users/service must be >= 1"],
    [
      "engine Q without clamd",
      { clamd: { mode: "none" }, settings: { engine: "Q" } },
      "/settings/engine must be equal to constant",
    ],
    [
      "a job without the owner's URL",
      { ...fleet, migrate: { by: "job" } },
      "/migrate/secretName must NOT have fewer than 1 characters",
    ],
    [
      "a job without a database",
      { migrate: { by: "job", secretName: "owner" } },
      "/migrate/by must be equal to constant",
    ],
    [
      "KEDA asking a database that is not there",
      { autoscaling: { keda: { trigger: "postgresql" } } },
      "/autoscaling/keda/trigger must NOT be valid",
    ],
    [
      "a network that is none",
      { networkPolicy: { egress: { networks: ["10.0.0.1"] } } },
      "/networkPolicy/egress/networks/0 must match pattern",
    ],
  ];
  for (const [what, values, problem] of wrong) {
    const found = problems(values);
    assert.ok(
      found.some((each) => each.startsWith(problem)),
      `${what}: ${found.join("; ")}`,
    );
  }
});

test("every setting that is a secret can come from a file, and none from a value", () => {
  const secrets = Object.entries(settingsTable).filter(([, row]) => row.secret);
  const names = secrets.map(([name]) => name).sort();
  assert.deepEqual(schema.properties.secrets.properties.files.propertyNames.enum.toSorted(), names);
  const refused = schema.definitions.settings.propertyNames.not.enum as string[];
  assert.deepEqual(
    names.filter((name) => !refused.includes(name)),
    [],
  );
  assert.deepEqual(
    refused.filter((name) => !(name in settingsTable)),
    [],
  );
});

test("helm test finds a service that scans, and one that does not", async () => {
  await using clamd = await testClamd();
  await using service = await testService({ engine: "Q", clamd: `unix:${clamd.socketPath}` });
  using folder = temporaryFolder();
  const keysFile = join(folder.path, "api-keys");
  const scan = everythingRendered()
    .flatMap(({ objects }) => objects)
    .find(({ kind, metadata }) => kind === "Pod" && metadata.name.endsWith("-test-scan"));
  const [container] = scan?.spec.containers ?? [];
  const run = async (key: string): Promise<{ code: number; output: string }> => {
    writeFileSync(keysFile, `${key}\nanother-key-of-the-tests\n`);
    const [, ...args] = container.command as string[];
    const env = { SERVICE_URL: service.url, KEYS_FILE: keysFile };
    const child = spawn(process.execPath, [...args, ...container.args], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    return { code, output: output + errors };
  };
  assert.deepEqual(await run(testKey), { code: 0, output: "ready\ninfected: Eicar-Test-Signature\n" });
  const refused = await run("a-key-that-nobody-knows");
  assert.equal(refused.code, 1);
  assert.match(refused.output, /the test file is .*invalid_api_key/);
});
