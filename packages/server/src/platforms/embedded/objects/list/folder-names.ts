import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import type { HeldFolder } from "../files/held-folder.ts";

/**
 * Names of files and folders as strings of their bytes (latin1), so that strings sort as the bytes do and a name that is
 * no UTF-8 is still a name. That of a folder ends with a slash: sorted so, the keys of a whole tree come in order
 * (`a-b`, `a/b`, `a0`).
 */
export type ByteName = string;

/** A folder with more is read more than once, so that memory stays small. */
const NAMES_AT_ONCE = 50_000;

/**
 * The names that are wanted, in order. Not those of links and special files. What comes or goes meanwhile may be missed,
 * nothing else.
 */
export async function* folderNames(
  folder: HeldFolder,
  wanted: (name: ByteName) => boolean,
  namesAtOnce = NAMES_AT_ONCE,
): AsyncGenerator<ByteName> {
  let last = "";
  for (;;) {
    const names = await firstNames(folder, { wanted: (name) => name > last && wanted(name), count: namesAtOnce });
    yield* names;
    if (names.length < namesAtOnce) return;
    last = names.at(-1) ?? last;
  }
}

async function firstNames(
  folder: HeldFolder,
  { wanted, count }: { wanted: (name: ByteName) => boolean; count: number },
): Promise<ByteName[]> {
  let names: ByteName[] = [];
  for await (const entry of await entriesOf(folder)) {
    const name = byteName(entry);
    if (name === undefined || !wanted(name)) continue;
    names.push(name);
    if (names.length >= 2 * count) names = names.sort().slice(0, count);
  }
  return names.sort().slice(0, count);
}

async function entriesOf(folder: HeldFolder): Promise<AsyncIterable<Dirent<Buffer>>> {
  // Node can do this and documents it, its types do not know.
  const encoding = "buffer" as BufferEncoding;
  return (await opendir(folder.path, { encoding, bufferSize: 256 })) as unknown as AsyncIterable<Dirent<Buffer>>;
}

function byteName(entry: Dirent<Buffer>): ByteName | undefined {
  if (entry.isFile()) return entry.name.toString("latin1");
  return entry.isDirectory() ? `${entry.name.toString("latin1")}/` : undefined;
}
