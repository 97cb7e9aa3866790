import { notUnpacked, type Objection } from "../objection.ts";
import type { LocalHeaders } from "./local-headers.ts";
import { isSized } from "./zip-headers.ts";

export interface MemberLayout {
  locals: LocalHeaders;
  /** The local headers that the directory names, and the packed sizes it tells. */
  listed: ReadonlyMap<number, number>;
  /** Where the first member must begin; undefined: anywhere, something else may stand before it. */
  firstAt: number | undefined;
  directoryAt: number;
  /** Where the signature of an Android package ends: it stands between the last member and the directory. */
  androidSignatureEndAt: number | undefined;
}

/** What follows a member of unknown size, with a signature of its own and sizes of 8 bytes. */
const LONGEST_DESCRIPTOR_BYTES = 24;

/**
 * The members must lie one after the other, all of them in the directory and as long as it says. 7-Zip goes by the local
 * headers where it distrusts the directory, and so do all programs that unpack while they download; the engine does not.
 */
export function judgeLayout(layout: MemberLayout): Objection | undefined {
  const { locals, listed, firstAt, directoryAt } = layout;
  /** The code of a program in front of the archive may hold a signature: nothing counts before the first member. */
  const first = firstAt === undefined ? lowest(listed.keys()) : Math.max(0, locals.indexAt(firstAt));
  let memberEndAt = 0;
  /** Where the next member begins at the latest. Gaps are of no use to anybody but behind members of unknown size. */
  let nextBefore = Number.POSITIVE_INFINITY;

  for (let index = first; index < locals.count(); index += 1) {
    const local = locals.get(index);
    if (!local || local.at >= directoryAt) break;
    const packedBytes = listed.get(index);
    if (local.at < memberEndAt) {
      // Of an archive that is itself a member, unless the directory names it.
      if (packedBytes !== undefined) return notUnpacked("members overlap");
      continue;
    }
    // Builders of Android packages fill holes with empty members that no directory names.
    const isFiller = packedBytes === undefined && isSized(local) && local.packedBytes === 0;
    if (packedBytes === undefined && !isFiller) return notUnpacked("a member is not in the directory");
    if (local.at > nextBefore) return notUnpacked("a member is longer than the directory says");
    memberEndAt = local.contentAt + (packedBytes ?? 0);
    nextBefore = isSized(local) ? Number.POSITIVE_INFINITY : memberEndAt + LONGEST_DESCRIPTOR_BYTES;
  }

  if (memberEndAt > directoryAt) return notUnpacked("a member reaches too far");
  const isSigned = layout.androidSignatureEndAt === directoryAt;
  return directoryAt > nextBefore && !isSigned
    ? notUnpacked("the last member is longer than the directory says")
    : undefined;
}

function lowest(numbers: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const number of numbers) least = Math.min(least, number);
  return least;
}
