import { ARCHIVES } from "./kinds/archives.ts";
import { DOCUMENTS } from "./kinds/documents.ts";
import { MEDIA } from "./kinds/media.ts";
import { RECORDS } from "./kinds/records.ts";
import { TEXTS } from "./kinds/texts.ts";
import type { KindTable } from "./signature.ts";

/** Every kind of file we tell apart, its name in results, and what gives it away. docs/file-types.md lists the names. */
const TABLE = { ...DOCUMENTS, ...ARCHIVES, ...MEDIA, ...RECORDS, ...TEXTS };

export type Kind = keyof typeof TABLE;

export const KINDS: Readonly<Record<Kind, KindTable[string]>> = TABLE;
export const kinds: readonly Kind[] = (Object.keys(TABLE) as Kind[]).filter((kind) => Object.hasOwn(TABLE, kind));

export function nameOf(kind: Kind): string {
  return TABLE[kind][0];
}
