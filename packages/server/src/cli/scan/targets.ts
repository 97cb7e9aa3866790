import { wrongUsage } from "../outcome/command-failed.ts";
import { type FileFilters, findFiles } from "./find-files.ts";
import type { ScanItem } from "./scanned.ts";

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
