import type { Blob } from "../blob.ts";
import { type ByteAt, byteAt } from "../byte-pattern.ts";
import type { Opener } from "../opener.ts";

/**
 * Documents with a password, by the stream of a compound file that says so, or the file itself. Nobody can look into them, so
 * they are never clean.
 */
export const lockedDocuments: readonly Opener[] = [
  locked("word", byteAt(0, "ec", "dc", "db", "9b", "97-99"), isLockedWord),
  locked("powerpoint", byteAt(2, "f6"), isLockedPowerPoint),
  locked("hwp", byteAt(0, "'H'"), isLockedHwp),
  locked("staroffice", byteAt(0, "'S'", "0f"), isLockedStarOffice),
];

const HEAD_BYTES = 160;

function locked(kind: string, known: ByteAt, isLocked: (head: Buffer) => boolean): Opener {
  return {
    kind,
    knownBy: [known],
    find(content: Blob) {
      const head = content.bytes(0, HEAD_BYTES);
      return head.length >= LEAST_BYTES && isLocked(head) ? [{ start: 0, end: content.size, sure: true }] : [];
    },
    open: () => ({ kind: "encrypted" }),
  };
}

/** The shortest of these streams is the one with PowerPoint's mark. */
const LEAST_BYTES = 20;

/** How `WordDocument` begins in Word 97 and later, Word 6 and 95, Word 2, Word 1, and in three that were sold in East Asia. */
const WORD_MARKS: readonly number[] = [0xa5ec, 0xa5dc, 0xa5db, 0xa59b, 0xa697, 0xa698, 0xa699];
const WORD_ENCRYPTED = 0x0100;

/** By a flag behind the mark and the version, whichever way it is encrypted or only obscured. */
function isLockedWord(head: Buffer): boolean {
  const [mark, version, flags] = [0, 2, 10].map((at) => head.readUInt16LE(at)) as [number, number, number];
  return WORD_MARKS.includes(mark) && version > 0x20 && version < 0x200 && (flags & WORD_ENCRYPTED) !== 0;
}

/** The stream `Current User` has one mark for documents that are encrypted and another for all others. */
function isLockedPowerPoint(head: Buffer): boolean {
  return head.readUInt16LE(2) === 0x0ff6 && head.readUInt32LE(12) === 0xf3d1c4df;
}

/** A password, a document for distribution only, rights management, a certificate and its rights management. */
const HWP_LOCKED = 0x02 | 0x04 | 0x10 | 0x100 | 0x400;

/** The stream `FileHeader` of Hangul Word Processor; before version 5 a file by itself, in which the mark goes on with the version. */
function isLockedHwp(head: Buffer): boolean {
  const mark = head.toString("latin1", 0, 18);
  if (mark === "HWP Document File ") return head.length >= 128 && head.readUInt16LE(126) !== 0;
  return mark === "HWP Document File\0" && head.length >= 40 && (head.readUInt32LE(36) & HWP_LOCKED) !== 0;
}

/** A text says so in its header, others in the stream about the document, `SfxDocumentInfo`, behind its name and version. */
function isLockedStarOffice(head: Buffer): boolean {
  const text = head.toString("latin1", 0, 17);
  if (/^SW[345]HDR/.test(text)) return (head.readUInt16LE(10) & 8) !== 0;
  return text === "\x0f\0SfxDocumentInfo" && head[19] === 1;
}
