import type { Dirent } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { wrongUsage } from "../exit-codes.ts";
import type { ScanItem } from "./scan-all.ts";

/** As it was written on the command line. */
export type Target = Exclude<ScanItem, { kind: "file" | "unreadable" }> | { kind: "path"; path: string };

export function parseTargets(texts: readonly string[]): Target[] {
  if (texts.filter((text) => text === "-").length > 1) {
    throw wrongUsage("stdin was named twice", "it can be read only once");
  }
  return texts.map(parseTarget);
}

export function parseTarget(text: string): Target {
  if (text === "-") return { kind: "stdin", name: "-" };
  if (/^https?:\/\//i.test(text)) return { kind: "url", name: text, url: text };
  if (/^s3:/i.test(text)) {
    const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/is.exec(text) ?? [];
    if (bucket && key) return { kind: "object", name: text, bucket, key };
    throw wrongUsage(`${text} names no object`, "write s3://bucket/key; lazaret guard BUCKET scans a whole bucket");
  }
  return { kind: "path", path: text };
}

/** Every single thing that the targets stand for. */
export async function* itemsOf(targets: readonly Target[], filters: FileFilters): AsyncGenerator<ScanItem> {
  for (const target of targets) {
    if (target.kind === "path") yield* findFiles(target.path, filters);
    else yield target;
  }
}

export interface FileFilters {
  recursive: boolean;
  /** Of files in folders only those, if there are any. Paths are relative to the folder, with slashes. */
  include: readonly ((path: string) => boolean)[];
  /** Files and whole folders that are passed over. */
  exclude: readonly ((path: string) => boolean)[];
  /** Called for each folder that is read. */
  onFolder?: () => void;
}

/**
 * A file itself, or the files below a folder, in the order of their names. What was named is always scanned, and
 * followed when it is a link; inside folders links, sockets and the like are passed over: they are no content.
 * Nothing is read but names and sizes.
 */
async function* findFiles(path: string, filters: FileFilters): AsyncGenerator<ScanItem> {
  let named: Awaited<ReturnType<typeof stat>>;
  try {
    named = await stat(path);
  } catch (error) {
    yield unreadable(path, error);
    return;
  }
  if (named.isDirectory()) yield* filesBelow({ path, name: "" }, filters);
  else yield { kind: "file", name: path, path, sizeBytes: named.size };
}

/** A folder: where it is, and what its name is below the one that was named. */
interface Folder {
  path: string;
  name: string;
}

async function* filesBelow(folder: Folder, filters: FileFilters): AsyncGenerator<ScanItem> {
  filters.onFolder?.();
  let entries: Dirent[];
  try {
    entries = await readdir(folder.path, { withFileTypes: true });
  } catch (error) {
    yield unreadable(folder.path, error);
    return;
  }
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder.path, entry.name);
    const name = folder.name === "" ? entry.name : `${folder.name}/${entry.name}`;
    if (filters.exclude.some((matches) => matches(name))) continue;
    if (entry.isDirectory()) {
      if (filters.recursive) yield* filesBelow({ path, name }, filters);
    } else if (entry.isFile() && (filters.include.length === 0 || filters.include.some((matches) => matches(name)))) {
      yield await fileAt(path);
    }
  }
}

async function fileAt(path: string): Promise<ScanItem> {
  try {
    return { kind: "file", name: path, path, sizeBytes: (await lstat(path)).size };
  } catch (error) {
    return unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): ScanItem {
  return { kind: "unreadable", name: path, reason: error instanceof Error ? error.message : String(error) };
}

/**
 * A pattern with a slash is for the path below the folder that is scanned, one without is for a name at any depth. `*` is
 * anything but a slash, `**` anything at all, `?` one character, `[a-z]` one of several, `{pdf,docx}` one of several words.
 * Names that begin with a dot are names like others.
 */
export function glob(pattern: string): (path: string) => boolean {
  const anyDepth = pattern.replace(/\/$/, "").includes("/") ? "" : "(?:.*/)?";
  const expression = new RegExp(`^${anyDepth}${source(pattern.replace(/^\.?\/|\/$/g, ""))}$`, "su");
  return (path) => expression.test(path);
}

const piece = /\*\*\/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|[\s\S]/gu;

function source(pattern: string): string {
  return pattern.replace(piece, (match) => {
    if (match === "**/") return "(?:.*/)?";
    if (match === "**") return ".*";
    if (match === "*") return "[^/]*";
    if (match === "?") return "[^/]";
    if (match.length > 1 && match.startsWith("[")) {
      const inner = match
        .slice(1, -1)
        .replace(/^!/, "^")
        .replace(/[\\[\]&]/g, "\\$&");
      return `(?!/)[${inner}]`;
    }
    if (match.length > 1 && match.startsWith("{")) return `(?:${match.slice(1, -1).split(",").map(source).join("|")})`;
    return match.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  });
}
