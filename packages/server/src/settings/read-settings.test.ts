import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings, type SettingsSources } from "./read-settings.ts";

const nothing: SettingsSources = { flags: {}, env: {}, file: {} };

function problemsOf(sources: Partial<SettingsSources>): string[] {
  const read = readSettings({ ...nothing, ...sources });
  if (read.kind === "ok") return [];
  return read.problems.map(({ name, problem, hint }) => `${name} ${problem}${hint ? ` | ${hint}` : ""}`);
}

test("with nothing set every setting has its default", () => {
  const read = readSettings(nothing);
  assert.ok(read.kind === "ok");
  assert.equal(read.settings.port, 8040);
  assert.deepEqual(read.settings.apiKeys, []);
  assert.equal(read.origins.port, "default");
});

test("a flag wins over the environment, the environment over the file, the file over the default", () => {
  const file = { port: 1001, concurrency: 7, logLevel: "error" };
  const env = { LAZARET_PORT: "1002", LAZARET_CONCURRENCY: "8" };
  const read = readSettings({ ...nothing, file, env, flags: { port: "1003" } });
  assert.ok(read.kind === "ok");
  assert.deepEqual([read.settings.port, read.settings.concurrency, read.settings.logLevel], [1003, 8, "error"]);
  assert.deepEqual(
    [read.origins.port, read.origins.concurrency, read.origins.logLevel],
    ["flag", "environment", "file"],
  );
});

// spec: parameter-2
test("the spec's parameter names work in lazaret.json as they are written there", () => {
  const file = {
    ApiKeys: ["first-secret", "second-secret"],
    ScannerStackName: "uploads",
    ReportEventBus: true,
    SignCallbackInvocations: true,
  };
  const read = readSettings({ ...nothing, file });
  assert.ok(read.kind === "ok");
  const { apiKeys, scannerStackName, reportEventBus, signCallbackInvocations } = read.settings;
  assert.deepEqual(
    [apiKeys, scannerStackName, reportEventBus, signCallbackInvocations],
    [["first-secret", "second-secret"], "uploads", true, true],
  );
});

test("an unknown variable or file key is an error that names the nearest", () => {
  assert.deepEqual(problemsOf({ env: { LAZARET_API_KEYZ: "x" }, file: { prot: 1 } }), [
    "LAZARET_API_KEYZ is not a setting | did you mean LAZARET_API_KEYS?",
    "lazaret.json: prot is not a setting | did you mean port?",
  ]);
  assert.deepEqual(problemsOf({ env: { LAZARET_QQQQQQQQ: "x" } }), ["LAZARET_QQQQQQQQ is not a setting"]);
});

test("all problems are reported at once", () => {
  const env = { LAZARET_PORT: "99999", LAZARET_CLAMD: "nonsense", LAZARET_ALLOW_NETWORKS: "10.0.0.0/8,banana" };
  const problems = problemsOf({ env });
  assert.equal(problems.length, 3);
  assert.match(problems[0] ?? "", /^LAZARET_PORT must be a whole number from 0 to 65535 \(it is "99999"\)/);
  assert.match(problems[1] ?? "", /^LAZARET_CLAMD must be unix:\/path/);
  assert.match(problems[2] ?? "", /^LAZARET_ALLOW_NETWORKS entry 2: /);
});

test("a secret may come from a file, and a bad one is never shown", () => {
  const read = readSettings({
    ...nothing,
    env: { LAZARET_API_KEYS_FILE: "/run/secrets/keys" },
    readSecretFile: (path) => (path === "/run/secrets/keys" ? "from-a-file" : ""),
  });
  assert.ok(read.kind === "ok");
  assert.deepEqual(read.settings.apiKeys, ["from-a-file"]);

  const [problem] = problemsOf({ env: { LAZARET_API_KEYS: "canary" } });
  assert.match(problem ?? "", /16 to 512 visible characters/);
  assert.doesNotMatch(problem ?? "", /canary/);
});

test("a secret given twice, or in a file that cannot be read, is a problem", () => {
  assert.match(problemsOf({ env: { LAZARET_API_KEYS: "aaaaaaaa", LAZARET_API_KEYS_FILE: "/x" } })[0] ?? "", /keep one/);
  assert.match(problemsOf({ env: { LAZARET_API_KEYS_FILE: "/nowhere/keys" } })[0] ?? "", /cannot read .* ENOENT/);
});

test("an address to listen on is an IP address or a name, and nothing that no link can have", () => {
  for (const host of ["0.0.0.0", "::", "::1", "fe80::1%eth0", "localhost", "scan_1.example.com"]) {
    assert.deepEqual(problemsOf({ env: { LAZARET_HOST: host } }), []);
  }
  for (const host of ["bad host", "localhost:8040", "[::1]", "http://localhost", "999.1.1.1", "a/b", "user@host"]) {
    assert.match(
      problemsOf({ env: { LAZARET_HOST: host } })[0] ?? "",
      /^LAZARET_HOST must be an IP address or the name/,
    );
  }
  assert.match(problemsOf({ env: { LAZARET_ADMIN_LISTEN: "999.1.1.1:8041" } })[0] ?? "", /an address and a port/);
});

test("the client's own variables are no mistake", () => {
  assert.deepEqual(problemsOf({ env: { LAZARET_URL: "http://localhost:8040", LAZARET_API_KEY: "x" } }), []);
});
