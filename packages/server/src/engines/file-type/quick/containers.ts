import type { Kind } from "../kinds.ts";
import type { Sample } from "../sample.ts";

const PDF_HEADER_WITHIN = 1024;

/** PDF readers take the header anywhere in the first 1024 bytes; late ones need the rest of a PDF, too. */
export function pdfKind(sample: Sample): Kind | undefined {
  const head = asBuffer(sample.head);
  const at = head.subarray(0, PDF_HEADER_WITHIN + 5).indexOf("%PDF-");
  if (at < 0) return undefined;
  if (/^(?:\xef\xbb\xbf)?\s*$/.test(head.toString("latin1", 0, at))) return "pdf";
  const tail = asBuffer(sample.tail);
  const ended = tail.lastIndexOf("%%EOF") >= 0 && tail.lastIndexOf("startxref") >= 0;
  return ended && head.includes(" obj", at) ? "pdf" : undefined;
}

/** Pictures, sound and film whose kind takes more than one fixed place to tell. */
export function mediaKind(sample: Sample): Kind | undefined {
  const head = asBuffer(sample.head);
  if (head.length < 16) return undefined;
  const letters = head.toString("latin1", 0, 4);
  if (head.toString("latin1", 4, 8) === "ftyp") return byBrand(head);
  switch (letters) {
    case "OggS":
      return oggKind(head);
    case "\x1a\x45\xdf\xa3":
      return head.subarray(0, 128).includes("webm") ? "webm" : "mkv";
    case "II*\0":
    case "MM\0*":
    case "II+\0":
    case "MM\0+":
      return "tif";
    default:
      break;
  }
  if (letters.startsWith("\x1f\x8b\x08")) return "gz";
  if (letters.startsWith("ID3")) return taggedAudio(head);
  if (/^[FCZ]WS/.test(letters) && (head[3] ?? 0) < 64) return "swf";
  if (letters.startsWith("BM") && isBitmap(head)) return "bmp";
  return undefined;
}

const BRANDS: readonly (readonly [RegExp, Kind])[] = [
  [/^avi[fs]/, "avif"],
  [/^(?:hei[cmsx]|hev[cmsx]|mif1|msf1)/, "heic"],
  [/^qt/, "mov"],
  [/^M4[ABP]/, "m4a"],
  [/^M4V/, "m4v"],
  [/^3g2/, "3g2"],
  [/^3g/, "3gp"],
  [/^crx/, "cr3"],
  [/^jxl/, "jxl"],
];

function byBrand(head: Buffer): Kind {
  const brand = head.toString("latin1", 8, 12);
  // Pictures of both kinds may call themselves mif1 first, and what they are in the list that follows.
  const compatible = head.toString("latin1", 16, Math.min(head.readUInt32BE(0), 64));
  if (/^m[is]f1/.test(brand) && /avi[fs]/.test(compatible)) return "avif";
  return BRANDS.find(([pattern]) => pattern.test(brand))?.[1] ?? "mp4";
}

function oggKind(head: Buffer): Kind {
  const codec = head.toString("latin1", 28, 36);
  if (codec === "OpusHead") return "opus";
  if (["\x01vorbis", "\x7fFLAC", "Speex"].some((name) => codec.startsWith(name))) return "oga";
  return codec.startsWith("\x80theora") ? "ogv" : "ogg";
}

/** What follows an ID3 tag, if that is in sight; mostly it is MP3. */
function taggedAudio(head: Buffer): Kind {
  const sizes = [6, 7, 8, 9].map((at) => (head[at] ?? 0) & 0x7f);
  const tagBytes = sizes.reduce((sum, size) => sum * 128 + size, 0);
  return head.toString("latin1", 10 + tagBytes, 14 + tagBytes) === "fLaC" ? "flac" : "mp3";
}

const BITMAP_HEADERS = [12, 16, 40, 52, 56, 64, 108, 124];

function isBitmap(head: Buffer): boolean {
  return head.length >= 18 && head.readUInt32LE(6) === 0 && BITMAP_HEADERS.includes(head.readUInt32LE(14));
}

/** The chunk that makes a PNG move comes before its pixels. */
export function pngKind(head: Uint8Array): Kind {
  const chunks = asBuffer(head).subarray(0, 4096);
  const animation = chunks.indexOf("acTL");
  const pixels = chunks.indexOf("IDAT");
  return animation >= 0 && (pixels < 0 || animation < pixels) ? "apng" : "png";
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
