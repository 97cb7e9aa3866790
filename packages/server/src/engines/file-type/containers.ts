import { constants, gunzipSync } from "node:zlib";
import { isTar } from "./checks.ts";
import type { Kind } from "./kinds.ts";
import { markupKind } from "./markup.ts";
import { bytesAt, id3End, type Sample, textOf, u16be, u16le, u32be, u32le } from "./sample.ts";

// Kinds that a signature tells in general, and a bounded look behind it in particular.

/** Films have a track of pictures; sound alone has none, whatever its brand. */
export function mp4Kind({ head, tail }: Sample): Kind {
  const ends = textOf(head, 0, head.length) + textOf(tail, 0, tail.length);
  return ends.includes("soun") && !ends.includes("vide") ? "m4a" : "mp4";
}

export function matroskaKind({ head }: Sample): Kind {
  return textOf(head, 0, 128).includes("webm") ? "webm" : "mkv";
}

/** Enough for the names in a gzip header and the beginning of what is packed. */
const PACKED_BYTES = 1024;
/** Deflate makes at most 1032 bytes of one. */
const MOST_BYTES = PACKED_BYTES * 1032;
const IN_GZIP: ReadonlySet<Kind | undefined> = new Set<Kind>(["gnumeric", "abw", "key", "pages", "numbers"]);

/** What kind of gzip it is by what is packed in it. */
export function gzipKind({ head }: Sample): Kind {
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_BYTES };
    const start = gunzipSync(head.subarray(0, PACKED_BYTES), options).subarray(0, 4096);
    if (textOf(start, 257, 5) === "ustar" || isTar({ head: start, tail: start, sizeBytes: start.length }))
      return "tar.gz";
    const text = textOf(start, 0, start.length);
    if (text.startsWith("BLENDER")) return "blend";
    const kind = markupKind({ start: text, end: text, whole: false, encoding: "ascii" });
    return kind === "svg" ? "svgz" : kind && IN_GZIP.has(kind) ? kind : "gz";
  } catch {
    return "gz";
  }
}

const SOUNDS: ReadonlySet<Kind> = new Set<Kind>([
  "flac",
  "aac",
  "ape",
  "tta",
  "mpc",
  "wv",
  "ac3",
  "aif",
  "wav",
  "dsf",
  "tak",
  "ofr",
]);

/** What follows an ID3 tag, if that is in sight; mostly it is MP3. */
export function taggedKind(sample: Sample, kindOf: (sample: Sample) => Kind): Kind {
  const at = id3End(sample.head);
  const head = bytesAt(sample, at, 4096);
  // Tags behind tags, hundreds of them, are not worth a look each.
  if (head.length === 0 || u32be(head, 0) >>> 8 === ID3) return "mp3";
  const kind = kindOf({ head, tail: head, sizeBytes: sample.sizeBytes - at });
  return SOUNDS.has(kind) ? kind : "mp3";
}

const ID3 = 0x494433;

const MAKE = 271;
const SUB_DIRECTORIES = 330;
const DNG_VERSION = 50_706;
const MOST_ENTRIES = 100;
const RAW_BY_MAKE: readonly (readonly [RegExp, Kind])[] = [
  [/^NIKON/, "nef"],
  [/^SONY/, "arw"],
  [/^PENTAX|^RICOH/, "pef"],
];

/** Raw images of cameras are TIFFs by a maker who is known for it, with the raw picture in a directory below. */
export function tiffKind(sample: Sample): Kind {
  const little = sample.head[0] === 0x49;
  const [u16, u32] = little ? [u16le, u32le] : [u16be, u32be];
  if (u16(sample.head, 2) !== 42) return "tif";
  const start = u32(sample.head, 4);
  const directory = bytesAt(sample, start, 2 + 12 * MOST_ENTRIES);
  const tags = new Map<number, number>();
  for (let entry = 0; entry < Math.min(u16(directory, 0), MOST_ENTRIES); entry++) {
    tags.set(u16(directory, 2 + 12 * entry), u32(directory, 10 + 12 * entry));
  }
  if (tags.has(DNG_VERSION)) return "dng";
  const make = textOf(bytesAt(sample, tags.get(MAKE) ?? -1, 16), 0, 16);
  return (tags.has(SUB_DIRECTORIES) && RAW_BY_MAKE.find(([pattern]) => pattern.test(make))?.[1]) || "tif";
}
