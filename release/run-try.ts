// npm run try-packages: builds both packages twice, installs them from their tarballs as users would, and uses them on every runtime.
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { signatureVectorKeys, signatureVectors } from "@lazaret/contract/signature-vectors";
import { npmScript, root, run } from "./project.ts";
import { installRuntimes, pathWith } from "./runtimes.ts";

const place = mkdtempSync(join(tmpdir(), "lazaret-try-"));
const started: ChildProcess[] = [];
let failures = 0;

async function step(name: string, work: () => Promise<string | undefined> | string | undefined): Promise<void> {
  const begun = Date.now();
  try {
    const said = await work();
    console.log(`ok    ${name}${said ? `: ${said}` : ""} (${((Date.now() - begun) / 1000).toFixed(0)} s)`);
  } catch (error) {
    failures += 1;
    const { message, stderr = "" } = error as Error & { stderr?: string };
    console.log(`FAIL  ${name}: ${message}\n${stderr}`);
  }
}

interface Shell {
  folder: string;
  env: Record<string, string>;
}

/** An empty folder, and an environment with this Node and nothing of the project; how npm reaches the registry is the machine's. */
function shell(name: string, node: string): Shell {
  const folder = join(place, name);
  mkdirSync(folder, { recursive: true });
  const kept = Object.entries(process.env).filter(
    ([key]) => !/^(?:LAZARET_|npm_|INIT_CWD$|NODE_(?!EXTRA_CA_CERTS$))/i.test(key),
  );
  const PATH = pathWith(join(place, `bin-${name}`), node, npmScript());
  const ours = { PATH, npm_config_cache: join(place, "npm"), npm_config_update_notifier: "false" };
  return { folder, env: { ...(Object.fromEntries(kept) as Record<string, string>), ...ours } };
}

async function sh({ folder, env }: Shell, command: string, more: Record<string, string> = {}): Promise<string> {
  const options = { cwd: folder, env: { ...env, ...more }, maxBuffer: 2 ** 26, timeout: 600_000 };
  return (await promisify(execFile)("sh", ["-ec", command], options)).stdout;
}

/** Starts a service, and answers where it is when it is ready. */
async function start(
  { folder, env }: Shell,
  command: string,
  ready: RegExp,
): Promise<{ url: string; stop(): Promise<void> }> {
  const child = spawn("sh", ["-ec", command], { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  const exit = once(child, "exit");
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (part: string) => {
        said += part;
        const [, found] = ready.exec(said) ?? [];
        if (found !== undefined) resolve(/^\d+$/.test(found) ? `http://127.0.0.1:${found}` : found);
      });
    }
    exit.then(() => reject(new Error(`${command} ended:\n${said}`)));
  });
  assert.doesNotMatch(said, /Warning/);
  return {
    url,
    async stop() {
      process.kill(-(child.pid ?? 0), "SIGTERM");
      await exit;
    },
  };
}

const settings = "LAZARET_PORT=0 LAZARET_CLAMD=none LAZARET_DRAIN_SECONDS=0";
/** What a new user does first. */
async function scans(at: Shell, lazaret: string, env: Record<string, string>): Promise<string> {
  const found = await sh(at, `${lazaret} eicar | ${lazaret} scan - || test $? = 1`, env);
  assert.match(found, /infected {2}- {2}EICAR_Test_File/);
  const clean = await sh(at, `${lazaret} submit $LAZARET_URL/docs --trace-id t >&2; ${lazaret} result t --wait`, env);
  assert.match(clean, /^clean {5}t/);
  return "EICAR infected, a queued link clean";
}

try {
  const [first, second] = ["first", "second"].map((name) => join(place, name)) as [string, string];
  await step("two dry runs of a release give the same bytes", () => {
    for (const out of [first, second])
      run(process.execPath, [join(root, "release/run-release.ts"), "--dry-run", "--out", out]);
    const sums = readFileSync(join(first, "SHA256SUMS"), "utf8");
    assert.equal(readFileSync(join(second, "SHA256SUMS"), "utf8"), sums);
    run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: first });
    return `${sums.trim().split("\n").length} files`;
  });
  const tarball = (start: RegExp): string =>
    join(first, readdirSync(first).find((name) => start.test(name)) ?? assert.fail());
  const service = tarball(/^lazaret-\d.*\.tgz$/);
  const client = tarball(/^lazaret-client-.*\.tgz$/);
  const { node20, node22, node24, bun, deno } = installRuntimes();
  const version = (program: string): string => run(program, ["--version"]).split("\n")[0]?.trim() ?? "";

  for (const node of [node20, node22]) {
    await step(`the service on Node ${version(node)} says what it needs`, async () => {
      const at = shell(`service-${version(node)}`, node);
      const said = await sh(
        at,
        `tar -xzf ${service} && node package/packages/server/bin/lazaret.mjs dev 2>&1 || test $? = 78`,
      );
      assert.match(said, /needs Node 24 or newer, and this is v2[02]/);
      return said.split("\n")[0];
    });
  }

  const at = shell("service", node24);
  copyFileSync(service, join(at.folder, basename(service)));
  const npx = `npx --yes ./${basename(service)}`;
  await step(`Node ${version(node24)}: ${npx} dev, in an empty folder`, async () => {
    const dev = await start(at, `${settings} ${npx} dev`, /is ready at (\S+)/);
    try {
      const key = readFileSync(join(at.folder, "data/dev-key"), "utf8").trim();
      const env = { LAZARET_URL: dev.url, LAZARET_API_KEY: key };
      const said = await scans(at, npx, env);
      await tryClients(env);
      return said;
    } finally {
      await dev.stop();
    }
  });
  await step(`Node ${version(node24)}: npm install --global with a prefix, lazaret serve`, async () => {
    await sh(at, `npm install --global --prefix ./prefix ./${basename(service)}`);
    writeFileSync(join(at.folder, "keys"), "a-key-of-more-than-sixteen-characters");
    const allow =
      "LAZARET_ALLOW_NETWORKS=127.0.0.0/8 LAZARET_HOST=127.0.0.1 LAZARET_API_KEYS_FILE=keys LAZARET_DATA_DIR=served";
    const command = `${settings} ${allow} exec ./prefix/bin/lazaret serve`;
    const serve = await start(at, command, /"event":"listening".*"port":(\d+)/);
    try {
      return await scans(at, "./prefix/bin/lazaret", {
        LAZARET_URL: serve.url,
        LAZARET_API_KEY: readFileSync(join(at.folder, "keys"), "utf8"),
      });
    } finally {
      await serve.stop();
    }
  });
  await step(`Node ${version(node24)}: the service by import and by require()`, async () => {
    const from = join(at.folder, "prefix/lib");
    const use = 'typeof lazaret.startService + " " + lazaret.version';
    const ways = [
      `node --input-type=module -e 'import * as lazaret from "lazaret"; console.log(${use})'`,
      `node --input-type=commonjs -e 'const lazaret = require("lazaret"); console.log(${use})'`,
    ];
    const said = await Promise.all(ways.map((way) => sh({ ...at, folder: from }, way)));
    assert.equal(said[0], said[1]);
    return said[0]?.trim();
  });

  async function tryClients(env: Record<string, string>): Promise<void> {
    const denoRun = `${deno} run --allow-all --no-remote --node-modules-dir=manual`;
    const runtimes = [
      ...[node20, node22, node24].map((node) => ({ name: `Node ${version(node)}`, node, command: "node" })),
      { name: `Bun ${version(bun)}`, node: node24, command: `${bun} run` },
      { name: version(deno), node: node24, command: denoRun },
    ];
    for (const { name, node, command } of runtimes) {
      await step(`the client on ${name}, by import and by require()`, async () => {
        const at = shell(`client-${name.replaceAll(/[^\w.]+/g, "-")}`, node);
        writeFileSync(join(at.folder, "package.json"), '{ "private": true, "type": "module" }');
        writeFileSync(join(at.folder, "file.txt"), "text");
        await sh(at, `npm install ${client}`);
        const vector = { ...signatureVectors[1], publicPemPkcs1: signatureVectorKeys.publicPemPkcs1 };
        const CASE = JSON.stringify({ path: join(at.folder, "file.txt"), vector });
        const more = {
          ...env,
          CASE,
          FILE_URL: `${env.LAZARET_URL}/docs`,
          DENO_NO_UPDATE_CHECK: "1",
          DENO_DIR: join(place, "deno"),
        };
        for (const file of ["use.mjs", "use.cjs"])
          copyFileSync(join(root, "packages/client/test/package", file), join(at.folder, file));
        const seen = JSON.parse(await sh(at, `${command} use.mjs`, more));
        assert.deepEqual(
          [seen.allClean, seen.job.status, seen.callback, seen.forged],
          [6, "clean", "infected", "bad_signature"],
        );
        const required = JSON.parse(await sh(at, `${command} use.cjs`, more));
        assert.deepEqual(required, { clean: true, size: 4, refused: [true, "invalid_api_key"] });
        return "6 uploads, a job, a callback";
      });
    }
  }
} finally {
  for (const child of started)
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), "SIGKILL");
  rmSync(place, { recursive: true, force: true });
}
console.log(failures === 0 ? "everything works from the tarballs" : `${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;
