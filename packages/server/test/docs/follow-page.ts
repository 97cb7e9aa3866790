import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type StartedServer, startLazaret, startServer } from "../examples/start-server.ts";
import { until } from "../support/until.ts";
import { type Place, root } from "./place.ts";

/**
 * How a page is read, from its blocks:
 *
 * - `sh` is run; a `json` block below it is its answer, a `text` block all that it prints. "…" may be anything, and so may
 *   the seconds that something took. Exports hold for what comes after them.
 * - `ts` is run when a `text` block below shows what it prints; otherwise it is a part of one of the examples.
 * - `yaml` is kept as the file that its first line names.
 * - `js` is shown for receivers without the client; journeys/callbacks.test.ts runs it.
 * - `console` is for what cannot be run as it stands. Of its commands those are started that stay there, on a free port
 *   instead of their own; without a command it is what the last of them says.
 */
interface Block {
  kind: string;
  text: string;
}

const patience = { limitMs: 60_000 };
const kinds = ["sh", "json", "text", "ts", "yaml", "js", "console", ""];

/** Does what a page says, and fails where something else comes out of it. Answers how many commands there were. */
export async function followPage(page: string, place: Place): Promise<number> {
  const blocks = blocksOf(readFileSync(join(root, page), "utf8"));
  const addresses = new Map([["http://127.0.0.1:8040", place.origin]]);
  const exports: string[] = [];
  let commands = 0;
  await using stack = new AsyncDisposableStack();
  let last: StartedServer | undefined;

  for (const [index, { kind, text }] of blocks.entries()) {
    assert.ok(kinds.includes(kind), `${page} has a block of the kind ${kind}, which nobody checks`);
    const next = blocks[index + 1];
    const shown = next?.kind === "json" || next?.kind === "text" ? next : undefined;
    const real = (written: string): string =>
      [...addresses].reduce((sum, [from, to]) => sum.replaceAll(from, to), written);
    if (kind === "sh") {
      commands += 1;
      const output = await run([...exports, real(text)], { place, merged: shown?.kind === "text", anyExit: !!shown });
      if (shown) check(output, { ...shown, text: real(shown.text) }, `${page}: ${text}`);
      else assert.doesNotMatch(output, /"statusCode":/, `${page}: ${text}`);
      exports.push(...(real(text).match(/^export .*$/gm) ?? []));
    } else if (kind === "ts" && shown) {
      commands += 1;
      writeFileSync(join(place.folder, "program.ts"), real(text));
      check(
        await run([...exports, "node program.ts"], { place, merged: true, anyExit: true }),
        shown,
        `${page}: ${text}`,
      );
    } else if (kind === "yaml") {
      const [, name = ""] = /^# (\S+\.yaml)\n/.exec(text) ?? [];
      assert.notEqual(name, "", `${page}: this file has no name\n${text}`);
      writeFileSync(join(place.folder, name), text);
    } else if (kind === "ts") {
      assert.ok(place.examples.includes(text.trim()), `${page}: no example has\n${text}`);
    } else if (kind === "console") {
      for (const [, line = ""] of text.matchAll(/^\$ (.*)$/gm)) {
        const started = await start(line, place);
        if (!started) continue;
        last = stack.use(started.server);
        addresses.set(started.address, last.origin);
      }
      const server = last;
      const words = real(text.replaceAll(/^\$ .*\n/gm, "")).trim();
      if (words === "") continue;
      assert.ok(server, `${page}: nothing was started that could say ${words}`);
      const saysSo = (): boolean => pattern(words, "m").test(server.said());
      await until(`${page}: it says ${words}`, saysSo, patience).catch((cause) => {
        throw new Error(`${page}: it said ${server.said()}`, { cause });
      });
    }
  }
  return commands;
}

function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(([, kind = "", text = ""]) => ({ kind, text }));
}

/** What stays there until it is stopped; anything else has been done, or is for people. */
async function start(line: string, place: Place): Promise<{ server: StartedServer; address: string } | undefined> {
  const [, example] = /^npx node (examples\/\S+)$/.exec(line) ?? [];
  if (example) {
    const server = await startServer(pathToFileURL(join(root, example)), { cwd: place.folder, env: place.env });
    return { server, address: "http://127.0.0.1:3000" };
  }
  if (line !== "npx lazaret listen") return undefined;
  const args = ["listen", "--port", "0"];
  const server = await startLazaret({ args, cwd: place.folder, env: place.env });
  return { server, address: "http://127.0.0.1:8041" };
}

interface RunOptions {
  place: Place;
  /** With what goes to stderr. */
  merged: boolean;
  /** What is shown tells enough: a file that is infected has an exit code of its own. */
  anyExit: boolean;
}

async function run(lines: readonly string[], { place, merged, anyExit }: RunOptions): Promise<string> {
  // A page exports the key itself before it uses it.
  const { LAZARET_API_KEY: _, ...settings } = place.env;
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("LAZARET_"));
  const env = {
    ...Object.fromEntries(inherited),
    ...settings,
    PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
  };
  // npx finds these programs in the project; what npm does around that is not what is shown.
  const script = ['npx() { "$@"; }', ...(merged ? ["exec 2>&1"] : []), ...lines].join("\n");
  return new Promise((resolve, reject) => {
    execFile("sh", ["-c", script], { cwd: place.folder, env }, (error, stdout, stderr) => {
      if (error && !anyExit) reject(new Error(`${script}\n${stdout}${stderr}`, { cause: error }));
      else resolve(stdout);
    });
  });
}

function check(output: string, shown: Block, what: string): void {
  if (shown.kind === "text") {
    assert.match(output.trim(), pattern(shown.text.trim()), `${what}\nit printed ${output}`);
    return;
  }
  const expected = JSON.parse(shown.text) as Record<string, unknown>;
  const actual = parsed(output, what);
  const anything = Object.keys(expected).filter((name) => expected[name] === "…" && name in actual);
  assert.deepEqual({ ...actual, ...Object.fromEntries(anything.map((name) => [name, "…"])) }, expected, what);
}

function parsed(output: string, what: string): Record<string, unknown> {
  try {
    return JSON.parse(output);
  } catch (cause) {
    throw new Error(`${what}\nit answered ${output}`, { cause });
  }
}

/** As the page has it, but for "…" and the seconds that something took. */
function pattern(text: string, flags = ""): RegExp {
  const literal = text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(`^${literal.replaceAll("…", ".*").replaceAll(/\b\d+s$/gm, "[\\dms ]+s")}$`, flags);
}
