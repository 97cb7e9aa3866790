import { type BigIntStats, constants, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath } from "node:fs/promises";
import { join } from "node:path";

/**
 * A folder held open, so that whatever is done in it is done in this very folder, also when somebody moves it or puts a
 * link in its place meanwhile. Throws Node's errors; what is no regular file, or reached by a link, counts as missing.
 */
export interface DirectoryHandle extends AsyncDisposable {
  /** Its own path, and that of an entry; good while it is open. */
  readonly path: string;
  at(name: string): string;
  /** Opens a folder in it, which is made first if `make` says so. */
  enter(name: string, options?: { make?: boolean }): Promise<DirectoryHandle>;
  openFile(name: string): Promise<OpenFile>;
  /** Undefined when there is no regular file of that name. */
  statFile(name: string): Promise<BigIntStats | undefined>;
  stat(): Promise<BigIntStats>;
  /** New and removed names in it survive a power cut from then on. */
  sync(): Promise<void>;
}

export interface OpenFile {
  file: FileHandle;
  stat: BigIntStats;
}

/** Below it Linux shows each open folder of the process; paths that begin there cannot be led astray. */
const HANDLES = "/proc/self/fd";
const handlesHavePaths = existsSync(HANDLES);

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
const FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
// Not blocking: opening a named pipe that took the file's place would wait for a writer.
const FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/**
 * Opens a folder in another, whose own path may lead through links. Where handles have no paths (`throughHandles` false) each
 * step is checked after it was taken instead, which leaves a moment for who can change folders at the same time.
 */
export async function openDirectory(
  dir: string,
  name: string,
  throughHandles = handlesHavePaths,
): Promise<DirectoryHandle> {
  const real = join(throughHandles ? dir : await realpath(dir), name);
  const handle = await open(real, FOLDER);
  return handleOn(throughHandles ? handle : await checked(handle, real), { real, throughHandles });
}

function handleOn(
  handle: FileHandle,
  { real, throughHandles }: { real: string; throughHandles: boolean },
): DirectoryHandle {
  const at = (name: string): string => {
    if (["", ".", ".."].includes(name) || /[/\0]/.test(name) || !name.isWellFormed()) throw missing();
    return throughHandles ? `${HANDLES}/${handle.fd}/${name}` : join(real, name);
  };

  async function step(name: string, flags: number): Promise<FileHandle> {
    const opened = await open(at(name), flags);
    return throughHandles ? opened : await checked(opened, join(real, name));
  }

  async function openFile(name: string): Promise<OpenFile> {
    // Checked before: opening a device or a pipe may do something to it.
    if (!(await lstat(at(name))).isFile()) throw missing();
    const file = await step(name, FILE);
    try {
      const stat = await file.stat({ bigint: true });
      if (stat.isFile()) return { file, stat };
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    throw missing();
  }

  return {
    path: throughHandles ? `${HANDLES}/${handle.fd}/.` : real,
    at,
    async enter(name, { make = false } = {}) {
      if (make) await unless("EEXIST", mkdir(at(name)));
      return handleOn(await step(name, FOLDER), { real: join(real, name), throughHandles });
    },
    openFile,
    async statFile(name) {
      const stat = await unless("ENOENT", lstat(at(name), { bigint: true }));
      return stat?.isFile() ? stat : undefined;
    },
    stat: () => handle.stat({ bigint: true }),
    sync: () => handle.sync(),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Closes what was opened by a path that leads elsewhere. */
async function checked(opened: FileHandle, path: string): Promise<FileHandle> {
  if ((await realpath(path).catch(() => undefined)) === path) return opened;
  await opened.close();
  throw missing();
}

/** Steps through folders that lie in one another, letting go of all but the last, and of all when a step fails. */
export async function enterAll(
  start: DirectoryHandle,
  names: readonly string[],
  options: { make?: boolean } = {},
): Promise<DirectoryHandle> {
  let folder = start;
  for (const name of names) {
    await using left = folder;
    folder = await left.enter(name, options);
  }
  return folder;
}

/** Undefined in place of that one error. */
export async function unless<T>(code: string, doing: Promise<T>): Promise<T | undefined> {
  try {
    return await doing;
  } catch (error) {
    if (errorCode(error) === code) return undefined;
    throw error;
  }
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** As if there was nothing of that name. */
export function missing(): Error {
  return Object.assign(new Error("no such file"), { code: "ENOENT" });
}
