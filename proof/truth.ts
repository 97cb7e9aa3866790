import { execFileSync } from "node:child_process";
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Container } from "../packages/server/test/fixtures/corpus/container.ts";

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

interface Place {
  /** The file. */
  path: string;
  /** An empty folder. */
  out: string;
}

/** What a reader runs: its output is the content, or the content lies in the folder afterwards. */
type Reader = (place: Place) => readonly string[];

const sevenZip: Reader = ({ path, out }) => ["7z", "x", "-y", "-p", "-bso0", "-bsp0", `-o${out}`, path];
const python =
  (mode: string): Reader =>
  ({ path, out }) => ["python3", PYTHON, mode, path, out];
const shell =
  (script: string): Reader =>
  ({ path, out }) => ["sh", "-c", `cd "$2" && ${script}`, "sh", path, out];

const readers: Readonly<Record<string, Reader>> = {
  "7z": sevenZip,
  "7z-any": ({ path, out }) => ["7z", "x", "-y", "-p", "-t*", "-bso0", "-bsp0", `-o${out}`, path],
  "7z-twice": sevenZip,
  "7z-thrice": sevenZip,
  "7z-as-7z": ({ path, out }) => ["7z", "x", "-y", "-t7z", "-bso0", "-bsp0", `-o${out}`, path],
  "7z-as-rar5": ({ path, out }) => ["7z", "x", "-y", "-trar5", "-bso0", "-bsp0", `-o${out}`, path],
  "busybox-tar": ({ path, out }) => ["busybox", "tar", "-xf", path, "-C", out],
  "busybox-unzip": ({ path, out }) => ["busybox", "unzip", "-o", "-q", "-d", out, path],
  unzip: ({ path, out }) => ["unzip", "-o", "-q", "-P", "x", "-d", out, path],
  "unzip-pipe": ({ path }) => ["unzip", "-p", "-P", "x", path],
  bsdtar: ({ path, out }) => ["bsdtar", "-xf", path, "-C", out],
  "bsdtar-twice": ({ path, out }) => ["bsdtar", "-xf", path, "-C", out],
  "bsdtar-zeros": ({ path, out }) => ["bsdtar", "-xf", path, "-C", out, "--options", "read_concatenated_archives"],
  "bsdtar-stream": shell('cat "$1" | bsdtar -xf -'),
  "bsdtar-cat": ({ path }) => ["bsdcat", path],
  tar: ({ path, out }) => ["tar", "-xf", path, "-C", out, "--no-same-owner"],
  "tar-zeros": ({ path, out }) => ["tar", "-xif", path, "-C", out],
  gzip: ({ path }) => ["gzip", "-dc", path],
  bzip2: ({ path }) => ["bzip2", "-dc", path],
  xz: ({ path }) => ["xz", "-dc", path],
  "xz-ignore": ({ path }) => ["xz", "-dc", "--ignore-check", path],
  lzma: ({ path }) => ["xz", "-dc", "--format=lzma", path],
  lzip: ({ path }) => ["lzip", "-dc", path],
  zstd: ({ path }) => ["zstd", "-dc", "--long=31", path],
  lz4: ({ path }) => ["lz4", "-dc", path],
  brotli: ({ path }) => ["brotli", "-dc", path],
  uncompress: ({ path }) => ["uncompress", "-c", path],
  pigz: ({ path }) => ["pigz", "-dc", path],
  lzop: ({ path }) => ["lzop", "-dc", path],
  lrzip: ({ path, out }) => ["lrzip", "-q", "-d", "-o", join(out, "content"), path],
  zpaq: ({ path, out }) => ["zpaq", "x", path, "-to", out],
  ar: shell('ar x "$1"'),
  cpio: shell('cpio -idu --quiet --no-absolute-filenames < "$1"'),
  cabextract: ({ path, out }) => ["cabextract", "-q", "-d", out, path],
  arj: shell('arj x -y "$1"'),
  lha: shell('lha xq "$1"'),
  unar: ({ path, out }) => ["unar", "-q", "-p", "x", "-o", out, path],
  "unrar-free": shell('unrar-free -x "$1"'),
  unsquashfs: ({ path, out }) => ["unsquashfs", "-f", "-q", "-n", "-d", out, path],
  gpg: ({ path, out }) => ["gpg", "--homedir", out, "--batch", "-q", "-d", path],
  munpack: shell('munpack -q -f < "$1"'),
  ripmime: ({ path, out }) => ["ripmime", "-i", path, "-d", out],
  uudecode: shell('uudecode -o content "$1"'),
  uudeview: shell('uudeview -i -q -p . "$1"'),
  tnef: ({ path, out }) => ["tnef", "-C", out, "-f", path],
  pdfdetach: ({ path, out }) => ["pdfdetach", "-saveall", "-o", out, path],
  qpdf: ({ path }) => ["qpdf", "--filtered-stream-data", "--show-object=6", path],
  mutool: ({ path }) => ["mutool", "show", "-b", path, "6"],
};

/** How often what came out is opened again. */
const rounds: Readonly<Record<string, number>> = { "7z-twice": 3, "7z-thrice": 4, "7z-any": 2, "bsdtar-twice": 2 };

export function truthOf(container: Container, content: Buffer): Truth {
  if (container.readers.length === 0) return { kind: "unasked" };
  const file = container.wrap(content, "sample.txt");
  const by = container.readers.find((name) => gets(name, { container, file, content }));
  return by === undefined ? { kind: "refuted", tried: container.readers } : { kind: "proved", by };
}

function gets(name: string, asked: { container: Container; file: Buffer; content: Buffer }): boolean {
  const reader = name.startsWith("python-") ? python(name.slice("python-".length)) : readers[name];
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

/** What it printed, whatever its exit code: programs complain about what they have unpacked. */
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

export function isInstalled(program: string): boolean {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
