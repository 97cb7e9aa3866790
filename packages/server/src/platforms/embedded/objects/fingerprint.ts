import { hash } from "node:crypto";
import type { BigIntStats } from "node:fs";

type Stat = Pick<BigIntStats, "ino" | "size" | "mtimeNs" | "ctimeNs">;

const HALF = 16;

/**
 * The version of a file as it lies there: another one whenever the file was written to, replaced, or had its times set
 * back, since nobody can set the time of the last change to the file's record (ctime). Renaming, linking and changing the
 * rights give another version too, which errs on the side of scanning again.
 *
 * The first half stays when we move the file aside or a backup brings it back, so that a version that was kept can be known
 * from one that was written to since. Without the device: it has another number after the next mount.
 */
export function versionOf({ ino, size, mtimeNs, ctimeNs }: Stat): string {
  return contentHalf({ size, mtimeNs }) + half(`${ino} ${ctimeNs}`);
}

/** The file may have been moved since it had this version, but not written to. */
export function hasContentOf(version: string, stat: Stat): boolean {
  return version.slice(0, HALF) === contentHalf(stat);
}

export function isVersion(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

function contentHalf({ size, mtimeNs }: Pick<Stat, "size" | "mtimeNs">): string {
  return half(`${size} ${mtimeNs}`);
}

function half(text: string): string {
  return hash("sha256", text, "hex").slice(0, HALF);
}

/** The clock of a file system goes in steps: of up to 10 ms on Linux, of 2 s where times have no fractions. */
const STEP_MS = 20;
const COARSE_STEP_MS = 2000;
const NS_PER_SECOND = 1_000_000_000n;

/**
 * How long until a version can be relied on: two writes within one step of the file system's clock look the same. Once the
 * step is over, any further write makes another version.
 */
export function reliableInMs({ ctimeNs }: Pick<Stat, "ctimeNs">, now: number): number {
  const step = ctimeNs % NS_PER_SECOND === 0n ? COARSE_STEP_MS : STEP_MS;
  const ageMs = now - Number(ctimeNs / 1_000_000n);
  // A file from the future, by another machine's clock, tells nothing of its age.
  return Math.min(step, Math.max(0, step - ageMs));
}
