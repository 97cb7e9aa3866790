import type { Blob } from "../blob.ts";

/** What became of one archive. Only `unpacked` means that all its members have come out, whole. */
export type UnpackOutcome =
  /** `tailBytes` stand behind the archive and do not belong to it; or something does, but 7-Zip does not say how much. */
  | { kind: "unpacked"; tailBytes: number; dataAfterEnd: boolean }
  | { kind: "encrypted" }
  /** It wants more memory than we give. */
  | { kind: "too-large" }
  /** Not such an archive at all, or damaged, or packed by a method nobody knows. */
  | { kind: "unreadable" };

export interface UnpackerReport {
  /** 7-Zip's exit code; none when it stopped dead, as it does on malformed headers. */
  result: number | undefined;
  memoryRefused: boolean;
  output: readonly string[];
  errors: readonly string[];
  archive: Blob;
  type: string;
}

/** An archive decides how much 7-Zip has to say about it. More lines than this are not read, and mean nothing good. */
export const LINES_AT_MOST = 30_000;

/**
 * Believes 7-Zip as far as it goes: names of members stand in its lines as they are, line breaks included, so a line may
 * be the archive's own. Such a line can make things look worse than they are, never better.
 */
export function unpackOutcome(report: UnpackerReport): UnpackOutcome {
  const { result, output, errors } = report;
  if (report.memoryRefused || result === EXIT.noMemory) return { kind: "too-large" };
  if (result === undefined) return hasEncryptedHeader(report) ? { kind: "encrypted" } : { kind: "unreadable" };
  if (output.length >= LINES_AT_MOST || errors.length >= LINES_AT_MOST) return { kind: "unreadable" };

  const serious = errors.filter((line) => line.trim() !== "" && !HARMLESS.test(line));
  if (serious.some((line) => /wrong password|encrypted (file|archive)/i.test(line))) return { kind: "encrypted" };
  if (serious.some((line) => /can't allocate|not enough memory/i.test(line))) return { kind: "too-large" };
  const fine = result === EXIT.fine || result === EXIT.warning || (result === EXIT.error && errors.some(isHarmless));
  if (!fine || serious.length > 0) return { kind: "unreadable" };
  return {
    kind: "unpacked",
    tailBytes: tailOf(report),
    dataAfterEnd: errors.some((line) => DATA_AFTER_END.test(line)),
  };
}

const EXIT = { fine: 0, warning: 1, error: 2, noMemory: 8 } as const;

/** Links, folders and attributes have no content; that they cannot be made where nothing is written is as it should be. */
const HARMLESS =
  /^ERROR: (Dangerous link path was ignored|Cannot create (hard link|symbolic link|folder)|Cannot set file attribute|There are some data after the end of the payload data) : /;
const DATA_AFTER_END = /^ERROR: There are some data after the end of the payload data : /;

function isHarmless(line: string): boolean {
  return HARMLESS.test(line);
}

/** The archive's properties come before its comment, so the first line that says it is 7-Zip's own. */
function tailOf({ output, archive }: UnpackerReport): number {
  const line = output.find((text) => /^(Tail Size|Comment) = /.test(text));
  const size = Number(line?.match(/^Tail Size = (\d+)$/)?.[1] ?? 0);
  return Math.min(size, archive.size);
}

/** A 7z archive may have its list of files encrypted too; 7-Zip stops dead on a wrong password then. */
function hasEncryptedHeader({ archive, type }: UnpackerReport): boolean {
  if (type !== "7z" || archive.size < 32) return false;
  const start = archive.bytes(0, 32);
  const [offset, size] = [Number(start.readBigUInt64LE(12)), Number(start.readBigUInt64LE(20))];
  if (32 + offset > archive.size) return false;
  return archive.bytes(32 + offset, Math.min(size, HEADER_BYTES)).includes(AES);
}

const HEADER_BYTES = 64 * 1024;
/** The id of 7-Zip's cipher. */
const AES = Buffer.from([0x06, 0xf1, 0x07, 0x01]);
