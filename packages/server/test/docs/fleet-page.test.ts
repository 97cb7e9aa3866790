import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder } from "../support/leftovers.ts";
import { type TestPostgres, testPostgres } from "../support/postgres.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { root } from "./place.ts";

const page = readFileSync(join(root, "docs/run-a-fleet-on-postgresql.md"), "utf8");
const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind = "", text = ""]) => ({ kind, text }));
const WRITTEN_URL = "postgresql://lazaret:$DB_PASSWORD@db.internal:5432/lazaret?sslmode=verify-full";

/** No clamd, and files of this machine. */
const alone = { LAZARET_CLAMD: "none", LAZARET_ALLOW_NETWORKS: "127.0.0.0/8" };

/** Two machines that have nothing in common but the database: a folder each, to which commands and settings are copied. */
async function machines(server: TestPostgres) {
  const folder = temporaryFolder();
  const real = new Map([
    // The test's own role and database have the names of the page already.
    ["ROLE lazaret", "ROLE fleet"],
    ["DATABASE lazaret OWNER lazaret", "DATABASE fleet OWNER fleet"],
    ["--owner=lazaret", "--owner=fleet"],
    [WRITTEN_URL, server.url.replace("//lazaret@/lazaret?", "//fleet@/fleet?")],
  ]);
  const socket = new URLSearchParams(server.url.split("?")[1]).get("host") ?? "";
  const { PATH, HOME } = process.env;
  const env = {
    HOME,
    PATH: `${join(root, "node_modules/.bin")}:${PATH}`,
    ...alone,
  };
  const asPostgres = `sudo() { shift 2; PGHOST='${socket}' PGUSER=postgres "$@"; }`;
  const exported: string[] = [];

  async function run(text: string): Promise<string> {
    const written = [...real].reduce((sum, [from, to]) => sum.replaceAll(from, to), text);
    const script = ["set -e", "exec 2>&1", 'npx() { "$@"; }', asPostgres, ...exported, written].join("\n");
    const { stdout } = await promisify(execFile)("sh", ["-c", script], { cwd: folder.path, env }).catch((error) => {
      throw new Error(`${script}\n${error.stdout}`, { cause: error });
    });
    exported.push(...(written.match(/^(?:export|set -a).*$/gm) ?? []));
    return stdout.trim();
  }

  /** With the same settings, and a data folder of its own. */
  async function start(name: string): Promise<CliRun> {
    const settings = readFileSync(join(folder.path, "fleet.env"), "utf8").matchAll(/^(\w+)='?(.*?)'?$/gm);
    const cwd = join(folder.path, name);
    mkdirSync(cwd);
    const own = Object.fromEntries([...settings].map(([, key, value]) => [key, value]));
    const started = runCli(["serve"], {
      cwd,
      env: { ...own, LAZARET_PORT: "0", LAZARET_HOST: "127.0.0.1", ...alone },
    });
    const [, port] = await started.says(/"event":"listening".*"port":(\d+)/);
    real.set(`http://${name}:8040`, `http://127.0.0.1:${port}`);
    return started;
  }

  return { run, start, [Symbol.dispose]: folder[Symbol.dispose] };
}

test("what docs/run-a-fleet-on-postgresql.md says to do makes a fleet of two machines", async () => {
  await using server = await testPostgres();
  using place = await machines(server);
  await using stack = new AsyncDisposableStack();
  let commands = 0;
  for (const [index, { kind, text }] of blocks.entries()) {
    const next = blocks[index + 1];
    if (kind === "console") {
      assert.match(text, /npx lazaret serve/);
      for (const name of ["machine-a", "machine-b"]) stack.use(await place.start(name));
    } else if (kind === "sh") {
      commands += 1;
      const output = await place.run(text);
      if (next?.kind === "text") assert.equal(output, next.text.trim());
    } else if (kind === "sql") {
      commands += 1;
      const rows = JSON.parse(await place.run(asJson(text)));
      const expected = /pg_stat_replication|pg_replication_slots|interval '1 minute'/.test(text) ? 0 : 1;
      assert.ok(rows.length >= expected, `${text} answers nothing`);
    }
  }
  assert.ok(commands >= 13, `only ${commands} commands were found`);
  const restored = await place.run(
    `sudo -u postgres psql -At -d lazaret_restored -c "SELECT count(*) FROM lazaret.results"`,
  );
  assert.equal(restored, "1", "the backup has the result");
});

/** One array, so that it is seen whether there are rows. */
function asJson(query: string): string {
  const single = query.trim().replace(/;$/, "");
  return `psql -At "$LAZARET_POSTGRES_URL" <<'QUERY'
SELECT coalesce(json_agg(found), '[]') FROM (
${single}
) AS found
QUERY`;
}
