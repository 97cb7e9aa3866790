import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Container } from "../packages/server/test/fixtures/corpus/container.ts";
import { type Program, programs } from "./programs.ts";

/**
 * Whether the programs that people have get the content out of a container. What none of them gets out is no proof of
 * anything: the corpus tells it apart.
 */
export type Truth =
  /** By this program. */
  | { kind: "proved"; by: string }
  /** No program is named: it is what the format says, or what lies around in a file. */
  | { kind: "unasked" }
  /** Those programs were tried, as far as they are here. */
  | { kind: "refuted"; tried: readonly string[] };

const PYTHON = fileURLToPath(new URL("readers.py", import.meta.url));
const LIMIT_MS = 30_000;
/** Larger files that came out are not looked at. */
const LARGEST = 2 ** 26;

const python =
  (mode: string): Program =>
  ({ path, out }) => ["python3", PYTHON, mode, path, out];

/** How often what came out is opened again. */
const rounds: Readonly<Record<string, number>> = { "7z-twice": 3, "7z-thrice": 4, "7z-any": 2, "bsdtar-twice": 2 };

export function truthOf(container: Container, content: Buffer): Truth {
  if (container.readers.length === 0) return { kind: "unasked" };
  const file = container.wrap(content, "sample.txt");
  const by = container.readers.find((name) => gets(name, { container, file, content }));
  return by === undefined ? { kind: "refuted", tried: container.readers } : { kind: "proved", by };
}

function gets(name: string, asked: { container: Container; file: Buffer; content: Buffer }): boolean {
  const reader = name.startsWith("python-") ? python(name.slice("python-".length)) : programs[name];
  if (!reader) throw new Error(`nobody knows the reader ${name}`);
  const folder = mkdtempSync(join(tmpdir(), "lazaret-proof-"));
  try {
    const path = join(folder, `sample${asked.container.extension}`);
    writeFileSync(path, asked.file);
    let open = [path];
    for (let round = 0; round < (rounds[name] ?? 1); round += 1) {
      const found: string[] = [];
      for (const [index, each] of open.entries()) {
        const out = join(folder, `out-${round}-${index}`);
        mkdirSync(out);
        if (run(reader({ path: each, out })).includes(asked.content)) return true;
        found.push(...filesIn(out));
      }
      if (found.some((each) => readFileSync(each).equals(asked.content))) return true;
      open = found;
    }
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns what it printed, whatever its exit code: programs complain about what they have unpacked. */
function run([program = "", ...args]: readonly string[]): Buffer {
  try {
    return execFileSync(program, args, { stdio: ["ignore", "pipe", "ignore"], maxBuffer: 2 ** 26, timeout: LIMIT_MS });
  } catch (error) {
    const { stdout } = error as { stdout?: Buffer };
    return stdout ?? Buffer.alloc(0);
  }
}

function filesIn(folder: string): string[] {
  return (
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      // A name that is no text cannot be asked for; another reader has it under a better one.
      .filter((path) => (statSync(path, { throwIfNoEntry: false })?.size ?? LARGEST) < LARGEST)
  );
}
