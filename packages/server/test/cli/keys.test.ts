import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { newSecret } from "../../src/access/api-key.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type CliOutcome, type CliRun, cliOutcome, runCli } from "../support/run-cli.ts";
import { until } from "../support/until.ts";

const folder = temporaryFolder();
const tenantsFile = join(folder.path, "tenants.yaml");
const keysFile = join(folder.path, "keys");
const [flat, later] = ["canary-flat-key-of-the-tests", "canary-later-key-of-the-tests"];
const declared = newSecret();
const env = {
  LAZARET_API_KEYS_FILE: keysFile,
  LAZARET_TENANTS_FILE: tenantsFile,
  LAZARET_SMTP_URL: "smtp://user:canary-password@127.0.0.1:2525",
  LAZARET_MAIL_FROM: "scanner@example.com",
  LAZARET_CLAMD: "none",
};
/** Two units on one data folder. */
let services: readonly [CliRun, CliRun];
let ports: readonly string[];
before(async () => {
  writeFileSync(keysFile, `${flat}\n`);
  writeFileSync(tenantsFile, declaring(declared));
  const flags = ["--port", "0", "--host", "127.0.0.1", "--drain-seconds", "0"];
  const serve = (): CliRun => runCli(["serve", ...flags], { cwd: folder.path, env });
  services = [serve(), serve()];
  const said = await Promise.all(services.map((each) => each.says(/"event":"listening".*"port":(\d+)/)));
  ports = said.map(([, port = ""]) => port);
});
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(async () => void (await Promise.all(services.map((each) => each[Symbol.asyncDispose]()))));

function declaring({ id, digest }: { id: string; digest: string }): string {
  return `tenants:\n  press:\n    keys:\n      app: { digest: "${id}:${digest}", scopes: [read] }\n`;
}

function lazaret(...args: string[]): Promise<CliOutcome> {
  return cliOutcome(args, { cwd: folder.path, env });
}

/** The answer of the services; undefined where they differ. */
async function status(secret: string): Promise<number | undefined> {
  const headers = { Authorization: `Bearer ${secret.trim()}` };
  const answers = await Promise.all(ports.map((port) => fetch(`http://127.0.0.1:${port}/v1/usage`, { headers })));
  await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  const [one, other] = answers.map((answer) => answer.status);
  return one === other ? one : undefined;
}

async function everywhere(secret: string, expected: number): Promise<void> {
  await until(`${expected} everywhere`, async () => (await status(secret)) === expected, { limitMs: 60_000 });
}

test("a key is accepted, exchanged and taken away by every service on the data folder", async () => {
  const made = await lazaret("keys", "create", "--name", "web", "--tenant", "shop", "--scope", "read");
  assert.deepEqual([made.code, made.out.trim().length], [0, 50]);
  await everywhere(made.out, 200);
  const next = await lazaret("keys", "rotate", "shop/web");
  await everywhere(next.out, 200);
  assert.equal(await status(made.out), 200);
  const last = await lazaret("keys", "rotate", "shop/web", "--overlap", "0s");
  await everywhere(made.out, 401);
  await everywhere(next.out, 401);
  for (const service of services) await service.says(/"status":401,[^\n]*"tenant":"shop","key":"web"/);
  await everywhere(last.out, 200);
  assert.equal((await lazaret("keys", "revoke", "shop/web")).code, 0);
  await everywhere(last.out, 401);
});

// spec: tenant-8
test("of two who make a key of one name at once never both have one, and what two set of a tenant stays", async () => {
  // In one process, so that they meet every time.
  const program = `
    import { keysCommand } from ${JSON.stringify(new URL("../../src/cli/keys.ts", import.meta.url).href)};
    import { tenantsCommand } from ${JSON.stringify(new URL("../../src/cli/tenants.ts", import.meta.url).href)};
    const create = () => keysCommand().parseAsync(["create", "--name", "same", "--tenant", "twins", "--scope", "scan"], { from: "user" });
    const set = (...flags) => tenantsCommand().parseAsync(["set", "twins", ...flags], { from: "user" });
    const made = await Promise.allSettled([create(), create(), create()]);
    const refused = made.filter(({ reason }) => /key twins\\/same (at this moment|already)/.test(reason?.message));
    await Promise.all([set("--weight", "7"), set("--jobs-waiting", "8"), set("--buckets", "twins-*")]);
    console.error("refused " + refused.length);
  `;
  const run = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, ...env },
  });
  const secrets = run.stdout.split("\n").filter((line) => line.startsWith("lz_"));
  const kept = JSON.parse((await lazaret("keys", "list", "--tenant", "twins", "--json")).out);
  assert.ok(secrets.length <= 1, run.stderr);
  assert.equal(kept.length, secrets.length);
  assert.match(run.stderr, new RegExp(`refused ${3 - secrets.length}\n`));
  const { weight, limits, buckets } = JSON.parse((await lazaret("tenants", "show", "twins")).out);
  assert.deepEqual([weight, limits, buckets], [7, { jobsWaiting: 8 }, ["twins-*"]]);
});

test("what a key is exchanged for is as good as the key was made, also when that is about to end", async () => {
  const known = async (): Promise<{ id: string; expires: string | null }[]> =>
    JSON.parse((await lazaret("keys", "list", "--tenant", "twins", "--json")).out);
  const create = ["keys", "create", "--name", "again", "--tenant", "twins", "--scope", "read", "--expires", "90d"];
  assert.equal((await lazaret(...create)).code, 0);
  const lost = await lazaret("keys", "rotate", "twins/again", "--overlap", "1h");
  assert.equal((await lazaret("keys", "revoke", lost.out.split("_")[1] ?? "")).code, 0);
  const last = await lazaret("keys", "rotate", "twins/again");
  const end = (await known()).find(({ id }) => last.out.includes(id))?.expires;
  assert.equal(Math.round((Date.parse(end ?? "") - Date.now()) / 86_400_000), 90);
  // Nor does a file with a mistake keep anybody from taking a key away.
  const broken = { ...env, LAZARET_TENANTS_FILE: join(folder.path, "nowhere") };
  const revoked = await cliOutcome(["keys", "revoke", "twins/again"], { cwd: folder.path, env: broken });
  assert.deepEqual([revoked.code, (await known()).filter(({ id }) => last.out.includes(id))], [0, []]);
  assert.match(revoked.err, /cannot read .*nowhere: ENOENT\nhint: a key that is declared there stays good/);
});

test("what a tenants file declares is followed; with a mistake the state before holds, and every mistake is named", async () => {
  await everywhere(declared.secret, 200);
  const other = newSecret();
  writeFileSync(tenantsFile, `${declaring(other)}  Shop: {}\n  mail: { weight: 0 }\n`);
  for (const service of services)
    await service.says(
      /"event":"tenants_file","error":"line 5: tenants.Shop must be a name[^"]*; line 6: tenants.mail.weight/,
    );
  assert.deepEqual([await status(declared.secret), await status(other.secret)], [200, 401]);
  writeFileSync(tenantsFile, declaring(other));
  await everywhere(declared.secret, 401);
  await everywhere(other.secret, 200);
});

test("keys in a file, one per line, are read again without a signal", async () => {
  assert.equal(await status(later), 401);
  writeFileSync(keysFile, `${flat}\n\n${later}\n`);
  await everywhere(later, 200);
  writeFileSync(keysFile, "short");
  for (const service of services) await service.says(/"event":"not_reloaded"/);
  assert.deepEqual([await status(flat), await status(later)], [200, 200]);
  writeFileSync(keysFile, `${later}\r\n`);
  await everywhere(flat, 401);
  await everywhere(later, 200);
});

test("the audit log has the start of each service and all that was done, and no secret is in it, in the log or on disk", async () => {
  const { out } = await lazaret("audit", "--json");
  const entries = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const others = entries.filter(({ on }) => !on.startsWith("twins")).reverse();
  const [own = [], operators = []] = [true, false].map((isOwn) =>
    others.filter(({ who }) => (who === "service") === isOwn).map(({ what }) => what),
  );
  // Each service writes down what it has read.
  const twice = ["service.start", "tenants-file.read", "tenants-file.read", "api-keys.read", "api-keys.read"];
  assert.deepEqual(own.toSorted(), [...twice, ...twice].sort());
  // Those that had ended are taken away with it.
  const revoked = Array<string>(3).fill("keys.revoke");
  assert.deepEqual(operators, ["keys.create", "keys.rotate", "keys.rotate", ...revoked]);
  const start = entries.find(({ what }) => what === "service.start");
  assert.equal(start.details.platform, "embedded");
  assert.deepEqual(
    start.details.settings.split(" ").filter((name: string) => /apiKeys|smtpUrl|concurrency/.test(name)),
    ["apiKeys", "smtpUrl"],
  );
  const data = join(folder.path, "data");
  const kept = readdirSync(data)
    .filter((name) => name.startsWith("jobs.db"))
    .map((name) => readFileSync(join(data, name), "latin1"));
  for (const text of [out, ...services.flatMap(({ stdout, stderr }) => [stdout, stderr]), ...kept]) {
    assert.doesNotMatch(text, /canary/);
    assert.doesNotMatch(text, /lz_[a-z2-7]{8}_/);
  }
});
