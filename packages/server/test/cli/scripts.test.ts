import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openApiDocument } from "../../src/compose/routes.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import { bucketsIn } from "../support/buckets.ts";
import { lazaretCommand } from "../support/lazaret-command.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { testKey } from "../support/service.ts";
import { parseScript, runStep } from "./run-script.ts";
import { signingService } from "./signing-service.ts";

const scripts = fileURLToPath(new URL("./scripts", import.meta.url));
const shared = temporaryFolder();
atTheEnd(() => shared[Symbol.dispose]());
mkdirSync(join(shared.path, "bin"));
writeFileSync(join(shared.path, "bin/lazaret"), `#!/bin/sh\nexec '${lazaretCommand.join("' '")}' "$@"\n`);
chmodSync(join(shared.path, "bin/lazaret"), 0o755);
bucketsIn(join(shared.path, "data/buckets")).put("uploads", "good.txt", "good");
const { clamd, files, service } = await signingService(join(shared.path, "data"));

/** What scripts can use as $NAME. */
function variables(): Record<string, string> {
  const data = join(shared.path, "data");
  return { URL: service.url, FILES: files.origin, CLAMD: `unix:${clamd.socketPath}`, DATA: data };
}

function environment(): Record<string, string> {
  const { PATH = "", HOME = "", TMPDIR = "/tmp" } = process.env;
  const own = { LAZARET_URL: service.url, LAZARET_API_KEY: testKey, LC_ALL: "C.UTF-8" };
  return { ...variables(), ...own, HOME, TMPDIR, PATH: `${join(shared.path, "bin")}:${PATH}` };
}

for (const name of readdirSync(scripts)) {
  test(`the commands of ${name} do what it says`, async () => {
    using folder = temporaryFolder();
    const text = readFileSync(join(scripts, name), "utf8");
    const steps = parseScript(text);
    assert.ok(steps.length > 0);
    for (const step of steps) {
      // What is expected may name them too; commands have them from the shell.
      const expanded = (line: string): string =>
        line.replace(/\$(URL|FILES|CLAMD|DATA)\b/g, (_, variable: string) => variables()[variable] ?? "");
      const expected = { ...step, stdout: step.stdout.map(expanded), stderr: step.stderr.map(expanded) };
      assert.equal(await runStep(expected, { cwd: folder.path, env: environment() }), undefined);
    }
  });
}

test("a script that does not say what happens fails, and shows it", async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path, env: environment() };
  const outcomes: (string | undefined)[] = [];
  for (const script of ["$ echo a\na", "$ echo a", "$ echo a\nb", "$ echo a\n! a", "$ exit 3", "$ echo abc\na…d"]) {
    for (const step of parseScript(script)) outcomes.push((await runStep(step, options))?.split("\n")[0]);
  }
  const wrong = ["$ echo a", "$ echo a", "$ echo a", "$ exit 3", "$ echo abc"].map((command) => `line 1: ${command}`);
  assert.deepEqual(outcomes, [undefined, ...wrong]);
});

test("on a terminal there are bars and colours, and with NO_COLOR no colours", async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path, env: { ...environment(), TERM: "xterm-256color" } };
  const shown = async (variables: string): Promise<string> => {
    const command = `lazaret eicar > bad.txt && ${variables} script -qec 'lazaret scan bad.txt' screen.txt > /dev/null`;
    const [step] = parseScript(`$ ${command}\n[exit 1]`);
    assert.ok(step);
    assert.equal(await runStep(step, options), undefined);
    return readFileSync(join(folder.path, "screen.txt"), "utf8");
  };
  const screen = await shown("");
  assert.ok(screen.includes("\x1b[31minfected\x1b[39m  bad.txt  Eicar-Test-Signature"), screen);
  assert.match(screen, /\[\.{16}\] {3}0% {2}0 B\/s {2}ETA … {2}bad\.txt\r\n/);
  assert.match(screen, /0 files {2}0\.0 files\/s 0 B\/s {2}0 infected|\[#*\.*\] \d\/1 /);
  assert.ok(screen.includes("\r\x1b[2K\x1b[1A\x1b[2K"), "the bars are taken away");
  assert.match(screen, /1 scanned \(68 B\): 0 clean, 1 infected, 0 not scanned/);
  const plain = await shown("NO_COLOR=1");
  assert.ok(!plain.includes("\x1b[31m") && plain.includes("infected  bad.txt"), plain);
});

test("lazaret openapi prints what a server serves", async () => {
  const served = await (await fetch(`${service.url}/openapi.json`)).json();
  const read = readSettings({ flags: {}, env: {}, file: {} });
  assert.ok(read.kind === "ok");
  assert.deepEqual(JSON.parse(JSON.stringify(openApiDocument(read.settings))), served);
});
