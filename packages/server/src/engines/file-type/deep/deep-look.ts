import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileTypeFromBuffer } from "file-type";
import { WASMagic, WASMagicFlags } from "wasmagic";
import { type Kind, nameOf } from "../kinds.ts";
import type { Sample } from "../sample.ts";
import { contentTypesKind } from "./content-types.ts";
import { gzipKind } from "./gzip-content.ts";
import { looksRandom } from "./looks-random.ts";
import { kindByExtension, nameByMagic } from "./magic-name.ts";

/** The closer look at what the quick look could not tell, with parsers made by others. Not for the main thread. */
export type DeepLook = (sample: Sample, quickKind: Kind) => Promise<string>;

/**
 * Text is told by the quick look alone. libmagic's own tests for it are off: they take half a second for 64 KB of
 * line ends, where all its other tests together stay under 5 ms for any bytes we tried.
 */
const WITHOUT_TEXT =
  WASMagicFlags.NO_CHECK_TEXT |
  WASMagicFlags.NO_CHECK_ENCODING |
  WASMagicFlags.NO_CHECK_TOKENS |
  WASMagicFlags.NO_CHECK_CSV |
  WASMagicFlags.NO_CHECK_JSON |
  WASMagicFlags.NO_CHECK_SIMH |
  WASMagicFlags.NO_CHECK_CDF |
  WASMagicFlags.NO_CHECK_COMPRESS |
  WASMagicFlags.NO_CHECK_APPTYPE;

const OFFICE: ReadonlySet<Kind> = new Set<Kind>(["docx", "docm", "xlsx", "xlsm", "pptx", "pptm", "vsdx", "ooxml"]);

/** Kinds that file-type takes two or three bytes for: left to libmagic, which looks at more. */
const WEAK: ReadonlySet<Kind> = new Set<Kind>(["mp2", "mp3", "aac", "mts", "ac3", "arj", "exe", "ico", "cur"]);

export async function deepLook(): Promise<DeepLook> {
  const magic = await WASMagic.create({ flags: WITHOUT_TEXT });
  let read: Buffer | undefined;
  const database = (): Buffer => {
    read ??= readFileSync(createRequire(import.meta.url).resolve("wasmagic/dist/libmagic-wrapper.wasm"));
    return read;
  };

  return async function look(sample: Sample, quickKind: Kind): Promise<string> {
    if (quickKind === "gz") return nameOf(gzipKind(sample.head));
    if (OFFICE.has(quickKind)) return nameOf(contentTypesKind(sample) ?? quickKind);
    const known = await kindByFileType(sample.head);
    if (quickKind !== "data") return nameOf(known ?? quickKind);
    if (known && !WEAK.has(known)) return nameOf(known);
    // Short magic numbers occur in random bytes: libmagic names one in twenty such files.
    if (looksRandom(sample.head)) return nameOf("data");
    return nameByMagic(magic.detect(sample.head), database);
  };
}

async function kindByFileType(head: Uint8Array): Promise<Kind | undefined> {
  try {
    const found = await fileTypeFromBuffer(head);
    return found && kindByExtension(found.ext);
  } catch {
    // A file cut or made so that its parser stumbles: libmagic may still know it.
    return undefined;
  }
}
