import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { inBytes, inTime } from "./output.ts";

/** What a pass over many files has done so far. */
export interface Tally {
  files: number;
  bytes: number;
  infected: number;
  notScanned: number;
  /** How many there are in all, once that is known. */
  totalFiles?: number;
  /** And how many bytes they have, if that is known of every one. */
  totalBytes?: number;
}

export function newTally(): Tally {
  return { files: 0, bytes: 0, infected: 0, notScanned: 0 };
}

export function count(tally: Tally, status: "clean" | "infected" | "no", sizeBytes: number): void {
  tally.files += 1;
  tally.bytes += sizeBytes;
  if (status === "infected") tally.infected += 1;
  if (status === "no") tally.notScanned += 1;
}

/** `3 files (82 B): 2 clean, 1 infected, 0 not scanned, 1s` */
export function summary(tally: Tally, { seconds, interrupted }: { seconds: number; interrupted: boolean }): string {
  const { files, bytes, infected, notScanned } = tally;
  const clean = files - infected - notScanned;
  const counts = `${clean} clean, ${infected} infected, ${notScanned} not scanned`;
  return `${interrupted ? "interrupted: " : ""}${files} scanned (${inBytes(bytes)}): ${counts}, ${inTime(seconds)}\n`;
}

/** Only a pass that came to its end, and found everything clean, is a success. */
export function exitCodeOf(tally: Tally, whole: boolean): ExitCode {
  if (tally.infected > 0) return exitCodes.infected;
  return tally.notScanned > 0 || !whole ? exitCodes.notScanned : exitCodes.clean;
}
