import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isInstalled, programs } from "../proof/programs.ts";

/** A long-living process that reads files with the modules of one language; see workers/reader.py. */
const languages: Readonly<Record<string, { program: string; args: readonly string[]; limits?: readonly string[] }>> = {
  python: { program: "python3", args: [worker("reader.py")], limits: ["--as=2000000000"] },
  perl: { program: "perl", args: [worker("reader.pl")], limits: ["--as=2000000000"] },
  php: { program: "php", args: ["-d", "memory_limit=512M", worker("reader.php")] },
  ruby: { program: "ruby", args: [worker("reader.rb")], limits: ["--as=4000000000"] },
  node: { program: process.execPath, args: ["--max-old-space-size=512", worker("reader.mjs")] },
  java: { program: "java", args: ["-Xmx256m", "-XX:+UseSerialGC", worker("Reader.java")] },
  go: { program: "go", args: ["run", worker("reader.go")] },
};

/** Programs that are asked about every file; the others only where a kind of container has them. */
const generic = ["7z", "bsdtar", "unar"];
const fitting: readonly [RegExp, readonly string[]][] = [
  [/zip|jar|package|OOXML/i, ["unzip", "busybox-unzip", "bsdtar-stream"]],
  [/tar/i, ["tar", "busybox-tar", "bsdtar-stream"]],
  [/mail|mbox|uu|message|TNEF/i, ["munpack", "ripmime", "uudeview", "uudecode", "tnef"]],
  [/PDF/, ["pdfdetach", "qpdf", "qpdf-all", "mutool", "mutool-clean"]],
  [/image|disk|FAT/i, ["mtools"]],
  [/OLE/, ["msiextract"]],
  [/lzma/, ["7z-as-lzma", "lzma"]],
  [/gzip|zlib/i, ["gzip", "pigz", "bsdtar-cat"]],
  [/deb/, ["dpkg-deb", "ar"]],
  [/rpm/, ["rpm2cpio"]],
  [/lzh/, ["lha"]],
];
/** Programs that run in a shell under another name. */
const ownPrograms: Readonly<Record<string, string>> = {
  mtools: "mcopy",
  "bsdtar-stream": "bsdtar",
  "tar-zeros": "tar",
};

const TIME_MS = 10_000;
const LARGEST = 2 ** 24;
/** The number of outputs that are opened again, for each file. */
const MOST_OPENED = 8;
const MOST_OUTPUTS = 100;
/** They give out a piece of anything; it is opened again only where it is a part of a mail. */
const MAIL_READERS = /email|mail$|mailparser|postal-mime|MIME::Parser/;
/** Programs run as nobody where we are root: what they read is made to mislead them. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

function worker(name: string): string {
  return fileURLToPath(new URL(`workers/${name}`, import.meta.url));
}

/** A question to the readers: is an output the payload? Some programs are asked besides those that always are. */
interface Question {
  file: Buffer;
  /** File extensions of the containers around the payload, from the outermost. */
  extensions: readonly string[];
  programs: readonly string[];
  isPayload(output: Buffer): boolean;
  /** Goes on after the first that gives it out. */
  all?: boolean;
}

export interface Panel extends AsyncDisposable {
  /** Chains of readers that give the payload out: `python email > 7z`. */
  ask(question: Question): Promise<string[]>;
  /** Every output that anything gives out, for files whose payload is not known yet. */
  outputs(file: Buffer, extension: string): Promise<Buffer[]>;
}

interface Output {
  by: string;
  content: Buffer;
}

/** Names of programs that fit a container: those that its row in the corpus names, and those of its kind. */
export function programsFor(kind: string, readers: readonly string[] = []): string[] {
  const fit = fitting.filter(([pattern]) => pattern.test(kind)).flatMap(([, names]) => names);
  // Outputs of the second round are opened again here anyway.
  return [...readers, ...fit].filter((name) => name in programs && !/-twice|-thrice/.test(name));
}

/** Returns the readers that are installed, and the names of those that are not. */
export function readersHere(): { here: string[]; missing: string[] } {
  const all = new Map(Object.entries(languages).map(([name, { program }]) => [name, program]));
  for (const [name, command] of Object.entries(programs)) {
    const [program = ""] = command({ path: "", out: "" });
    all.set(name, ownPrograms[name] ?? (program === "sh" ? name : program));
  }
  const isHere = (name: string): boolean => all.get(name) === process.execPath || isInstalled(all.get(name) ?? "");
  return { here: [...all.keys()].filter(isHere), missing: [...all.keys()].filter((name) => !isHere(name)) };
}

/** Starts the workers; everything they write lies in the folder. */
export function startPanel(folder: string, here: readonly string[]): Panel {
  chmodSync(folder, 0o755);
  const workers = Object.keys(languages)
    .filter((name) => here.includes(name))
    .map((name) => languageWorker(name, folder));

  async function open(
    file: Buffer,
    { extension, names, enough }: { extension: string; names: readonly string[]; enough: (found: Output[]) => boolean },
  ): Promise<Output[]> {
    const place = mkdtempSync(join(folder, "file-"));
    chmodSync(place, 0o755);
    try {
      const path = join(place, `sample${extension}`);
      writeFileSync(path, file, { mode: 0o644 });
      const out = join(place, "out");
      mkdirSync(out);
      await Promise.all(workers.map((each) => each.read(path, out)));
      const found = filesIn(out).map(({ name, content }) => ({ by: name.split("~")[0] ?? name, content }));
      for (const name of new Set([...generic, ...names])) {
        if (!here.includes(name) || enough(found)) continue;
        const own = join(place, name);
        mkdirSync(own);
        chmodSync(own, 0o777);
        const printed = await run(programs[name]?.({ path, out: own }) ?? [], own);
        found.push(
          ...[printed, ...filesIn(own).map(({ content }) => content)].map((content) => ({ by: name, content })),
        );
      }
      return found;
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  }

  async function ask({ file, extensions, programs: names, isPayload, all }: Question): Promise<string[]> {
    const givers = new Set<string>();
    const seen = new Set([digest(file)]);
    let level: Output[] = [{ by: "", content: file }];
    for (let depth = 0; depth <= extensions.length && level.length > 0; depth += 1) {
      const next: Output[] = [];
      for (const { by: via, content } of level.slice(0, MOST_OPENED)) {
        const extension = extensions[depth] ?? ".bin";
        const isMail = /content-|^begin /im.test(content.toString("latin1"));
        const enough = (found: Output[]): boolean => !all && found.some((output) => isPayload(output.content));
        for (const output of await open(content, { extension, names, enough })) {
          const by = via === "" ? output.by : `${via} > ${output.by}`;
          if (isPayload(output.content)) {
            givers.add(by);
            continue;
          }
          const isOpened = output.content.length > 0 && (isMail || !MAIL_READERS.test(output.by));
          if (!isOpened || seen.has(digest(output.content))) continue;
          next.push({ by, content: output.content });
          seen.add(digest(output.content));
        }
        if (givers.size > 0 && !all) return [...givers];
      }
      // Longer chains would say the same again.
      if (givers.size > 0) break;
      level = next;
    }
    return [...givers];
  }

  return {
    ask,
    outputs: async (file, extension) =>
      (await open(file, { extension, names: [], enough: () => false })).map(({ content }) => content),
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map((each) => each.stop()));
    },
  };
}

const digest = (content: Buffer): string => createHash("sha1").update(content).digest("base64");

function languageWorker(
  name: string,
  folder: string,
): { read(path: string, out: string): Promise<void>; stop(): Promise<void> } {
  let child: ChildProcess | undefined;
  const start = (): ChildProcess => {
    const { program, args, limits = [] } = languages[name] as (typeof languages)[string];
    const flags = ["--core=0", `--fsize=${LARGEST * 4}`, ...limits];
    const child = spawn("prlimit", [...flags, program, ...args], {
      cwd: folder,
      stdio: ["pipe", "pipe", "ignore"],
      detached: true,
      env: { ...process.env, LC_ALL: "C.UTF-8", HOME: folder, GO111MODULE: "off", GOCACHE: join(folder, "..", "go") },
    });
    // It ends when it likes; what it was asked then waits no longer.
    for (const each of [child, child.stdin]) each.on("error", () => {});
    return child;
  };
  const ended = (process: ChildProcess): Promise<void> =>
    new Promise((resolve) => {
      if (process.exitCode !== null || process.signalCode !== null) resolve();
      else process.once("exit", () => resolve());
    });
  return {
    read: (path, out) =>
      new Promise((resolve) => {
        const isFirst = child === undefined;
        const current = child ?? start();
        child = current;
        const done = (isAlive: boolean): void => {
          clearTimeout(timer);
          current.stdout?.removeAllListeners("data");
          current.removeAllListeners("exit");
          if (!isAlive && child === current) child = undefined;
          resolve();
        };
        // The first answer takes as long as the language needs to start.
        const late = (): void => {
          kill(current);
          done(false);
        };
        const timer = setTimeout(late, isFirst ? 6 * TIME_MS : TIME_MS);
        current.stdout?.on("data", (text: Buffer) => text.includes("\n") && done(true));
        current.once("exit", () => done(false));
        current.stdin?.write(`${path}\t${out}\n`);
      }),
    async stop() {
      if (!child) return;
      const end = ended(child);
      kill(child);
      await end;
    },
  };
}

/** With what it has started. */
function kill({ pid }: ChildProcess): void {
  try {
    if (pid) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Returns what it printed, whatever its exit code: programs complain about what they have unpacked. */
function run(command: readonly string[], cwd: string): Promise<Buffer> {
  return new Promise((resolve) => {
    const limits = ["--core=0", `--fsize=${LARGEST * 4}`, "--as=4000000000", `--cpu=${TIME_MS / 1_000}`];
    const env = { ...process.env, LC_ALL: "C.UTF-8", HOME: cwd };
    const child = spawn("prlimit", [...limits, ...command], {
      ...{ cwd, env, detached: true, stdio: ["ignore", "pipe", "ignore"] },
      ...NOBODY,
    });
    const printed: Buffer[] = [];
    let size = 0;
    child.stdout?.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size < LARGEST) printed.push(piece);
      else kill(child);
    });
    const timer = setTimeout(() => kill(child), TIME_MS);
    const end = (): void => {
      clearTimeout(timer);
      kill(child);
      resolve(Buffer.concat(printed));
    };
    child.on("error", end);
    child.on("close", end);
  });
}

function filesIn(folder: string): { name: string; content: Buffer }[] {
  const found: { name: string; content: Buffer }[] = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    // A name that is no text cannot be asked for; another reader has it under a better one.
    const size = entry.isFile() ? (statSync(path, { throwIfNoEntry: false })?.size ?? LARGEST) : LARGEST;
    if (size > 0 && size < LARGEST && found.length < MOST_OUTPUTS)
      found.push({ name: entry.name, content: readFileSync(path) });
  }
  return found;
}
