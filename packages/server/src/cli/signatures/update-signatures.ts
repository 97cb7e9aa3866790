import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import {
  chmod,
  copyFile,
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClamdAddress, configuredClamd, connectOptions, describeAddress } from "../../engines/clamd/address.ts";
import { findClamdConf } from "../../engines/clamd/clamd-conf.ts";
import { databasesIn, type SignatureDatabase, sha256Of } from "../../engines/clamd/databases.ts";
import { selfTest } from "../../engines/clamd/keeper/self-test.ts";
import { clamdBinary, ownClamd } from "../../engines/clamd/own-clamd.ts";
import type { Settings } from "../../settings.ts";
import { CommandFailed, exitCodes, wrongUsage } from "../exit-codes.ts";
import { say } from "../terminal/output.ts";

export interface UpdateOptions {
  from: string;
  /** Where clamd, or the service that keeps one, takes them from. */
  to?: string | undefined;
  /** Without the self-test, where there is no clamd to make it with. */
  test: boolean;
  allowOlder: boolean;
}

export interface Updated {
  to: string;
  /** Names. */
  replaced: string[];
  unchanged: string[];
}

const SUMS = "SHA256SUMS";
const RELOAD_MS = 10_000;
/** More than the sums of all databases that there are. */
const MOST_SUMS_BYTES = 1024 * 1024;
/** What somebody has brought may be anything: a link would be followed with our rights, and a pipe never ends. */
const ONLY_FILES = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Of an update that was killed; a younger one may be under way. */
const LEFT_BEHIND_MS = 24 * 3600 * 1000;
const DRAFT = /^\.lazaret-[0-9a-f]{12}$/;
const TRIED = /^lazaret-signatures-\w{6}$/;
const PLAIN_NAME = /^[\w.+-]+$/;

/**
 * Brings the databases of a folder to where clamd takes them from, without a network. All are copied beside the old ones first, read back
 * and tried by a clamd; only then each takes its place, in one step. What is there and not in `from` stays.
 */
export async function updateSignatures(settings: Settings, options: UpdateOptions): Promise<Updated> {
  const { from, test } = options;
  const to = options.to ?? placeOf(settings);
  const [given, there] = [await found(from, "from"), await found(to, "to")];
  if (given.length === 0)
    throw wrongUsage(`there are no databases of signatures in ${from}`, "name the folder that has daily.cvd");
  if (!options.allowOlder) refuseOlder(given, there);

  // On the same disk, so that renaming is one step; clamd and freshclam overlook names with a dot.
  const draft = join(to, `.lazaret-${randomBytes(6).toString("hex")}`);
  await Promise.all([removeLeftovers(to, DRAFT), removeLeftovers(tmpdir(), TRIED)]);
  await mkdir(draft, { mode: 0o700 });
  try {
    const sums = await sumsIn(from);
    for (const { name, path } of given) {
      if (!PLAIN_NAME.test(name))
        throw refused(`${JSON.stringify(path)} has letters in its name that none of ClamAV's has`);
      if (sums && !sums.has(name)) throw refused(`${path} is not named in ${SUMS}`);
      await copyChecked(path, join(draft, name), sums?.get(name));
    }
    if (test) await tryThem(draft, given, there);
    const old = new Map(there.map(({ name, path }) => [name, path]));
    const replaced: string[] = [];
    for (const { name } of given) {
      const before = old.get(name);
      if (before !== undefined && (await sha256Of(before)) === (await sha256Of(join(draft, name)))) continue;
      await rename(join(draft, name), join(to, name));
      await Promise.all(twinsOf(name, there).map((path) => rm(path, { force: true })));
      replaced.push(name);
    }
    await sync(to);
    return { to, replaced, unchanged: given.map(({ name }) => name).filter((name) => !replaced.includes(name)) };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** What cannot be removed is in nobody's way. Links are not followed, and folders of others not touched. */
async function removeLeftovers(folder: string, names: RegExp): Promise<void> {
  for (const name of (await readdir(folder).catch(() => [])).filter((each) => names.test(each))) {
    const found = await lstat(join(folder, name)).catch(() => undefined);
    if (!found?.isDirectory() || found.uid !== process.getuid?.() || Date.now() - found.mtimeMs < LEFT_BEHIND_MS)
      continue;
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => {});
  }
}

/** Has a clamd that is not ours load them now; without, it does so within its SelfCheck. Answers whether it was told. */
export async function tellClamd(settings: Settings): Promise<boolean> {
  const address = settings.clamd === "own" ? undefined : configuredClamd(settings);
  if (!address) return false;
  const said = await reload(address).catch(() => "");
  if (!said.startsWith("RELOADING"))
    say(`lazaret: clamd at ${describeAddress(address)} was not told: it loads them within its SelfCheck\n`);
  return said.startsWith("RELOADING");
}

function placeOf(settings: Settings): string {
  if (settings.clamd === "own") return settings.signaturesDir;
  const address = configuredClamd(settings);
  const folder = address?.kind === "unix" ? findClamdConf(address)?.databaseDir : undefined;
  if (folder !== undefined) return folder;
  throw wrongUsage("nobody knows where clamd takes its signatures from", "name its DatabaseDirectory with --to");
}

async function found(folder: string, flag: string): Promise<SignatureDatabase[]> {
  return databasesIn(folder).catch((cause: Error) => {
    throw new CommandFailed(exitCodes.usage, `cannot read ${folder}: ${cause.message}`, {
      hint: `see what --${flag} names`,
      cause,
    });
  });
}

/** An old copy must not take the place of a newer one unseen. */
function refuseOlder(given: readonly SignatureDatabase[], there: readonly SignatureDatabase[]): void {
  for (const { name, header } of given) {
    const newer = there.find(
      (each) => stemOf(each.name) === stemOf(name) && (each.header?.version ?? 0) > (header?.version ?? Infinity),
    );
    if (!newer) continue;
    throw new CommandFailed(
      exitCodes.refused,
      `${name} is version ${header?.version}, and ${newer.path} is ${newer.header?.version}: nothing was changed`,
      { hint: "bring a newer one, or say --allow-older" },
    );
  }
}

/** `daily.cvd` and `daily.cld` are the same database: clamd loads one of them. */
function twinsOf(name: string, there: readonly SignatureDatabase[]): string[] {
  if (!/\.c[vlu]d$/.test(name)) return [];
  return there.filter((each) => each.name !== name && stemOf(each.name) === stemOf(name)).map(({ path }) => path);
}

function stemOf(name: string): string {
  return name.replace(/\.c[vlu]d$/, "");
}

/** What sha256sum wrote beside them; undefined if there is no such file. */
async function sumsIn(folder: string): Promise<ReadonlyMap<string, string> | undefined> {
  const path = join(folder, SUMS);
  await using file = await opened(path).catch((error) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (!file) return undefined;
  if ((await file.stat()).size > MOST_SUMS_BYTES) throw refused(`${path} is too large`);
  const text = await file.readFile("utf8");
  const lines = [...text.matchAll(/^([0-9a-f]{64}) [ *](?:\.\/)?(.+)$/gim)];
  return new Map(lines.map(([, sum = "", name = ""]) => [name, sum.toLowerCase()]));
}

async function copyChecked(from: string, to: string, expected: string | undefined): Promise<void> {
  await using file = await opened(from);
  const digest = createHash("sha256");
  await writeFile(to, seenBy(digest, file), { flag: "wx" });
  // Whoever runs clamd must be able to read it, whoever copied it here.
  await chmod(to, 0o644);
  await sync(to);
  const sum = digest.digest("hex");
  if ((await sha256Of(to)) !== sum) throw refused(`${from} is not what it was when read back: the disk may fail`);
  if ((expected ?? sum) !== sum) throw refused(`${from} is not what ${SUMS} says`);
}

async function* seenBy(digest: { update(part: Uint8Array): unknown }, file: FileHandle): AsyncGenerator<Uint8Array> {
  for await (const part of file.createReadStream({ autoClose: false })) {
    digest.update(part);
    yield part;
  }
}

async function opened(path: string): Promise<FileHandle> {
  const file = await open(path, ONLY_FILES).catch((error) => {
    throw error.code === "ELOOP" ? refused(`${path} is a link`) : error;
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw refused(`${path} is not a file`);
}

function refused(what: string): CommandFailed {
  return new CommandFailed(exitCodes.refused, `${what}: nothing was changed`, { hint: "copy them again" });
}

/** As they will be: with what stays of those that are there. */
async function tryThem(
  draft: string,
  given: readonly SignatureDatabase[],
  there: readonly SignatureDatabase[],
): Promise<void> {
  const binary = clamdBinary();
  if (!binary) {
    throw new CommandFailed(
      exitCodes.settings,
      "there is no clamd on this machine to try them with: nothing was changed",
      {
        hint: "apt-get install clamav-daemon, or --no-test where clamd on another machine uses them",
      },
    );
  }
  const folder = await mkdtemp(join(tmpdir(), "lazaret-signatures-"));
  const staying = there.filter(({ name }) => !given.some((each) => stemOf(each.name) === stemOf(name)));
  try {
    const all = join(folder, "db");
    await mkdir(all);
    for (const { name } of given) await copyFile(join(draft, name), join(all, name), constants.COPYFILE_FICLONE);
    for (const { name, path } of staying) await copyFile(path, join(all, name), constants.COPYFILE_FICLONE);
    await using clamd = await ownClamd({ folder, signaturesDir: all, binary });
    await selfTest({ kind: "unix", path: clamd.socketPath }, [binary]);
  } catch (cause) {
    throw new CommandFailed(
      exitCodes.refused,
      `the signatures failed their self-test: ${(cause as Error).message}: nothing was changed`,
      {
        hint: "bring others; those that are there stay in use",
        cause,
      },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function reload(address: ClamdAddress): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(connectOptions(address), () => socket.write("zRELOAD\0"));
    socket.setTimeout(RELOAD_MS, () => socket.destroy(new Error("no answer")));
    socket.once("data", (reply) => {
      socket.destroy();
      resolve(reply.toString());
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("closed")));
  });
}

async function sync(path: string): Promise<void> {
  await using file = await open(path);
  await file.sync();
}
