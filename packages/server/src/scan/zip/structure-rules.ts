import { beyondLimits, notUnpacked, type Objection } from "../objection.ts";
import type { DirectoryEntry } from "./directory-chains.ts";
import { beginsAsZip, firstHeaderAt, headKind } from "./file-head.ts";
import type { LocalHeaders } from "./local-headers.ts";
import { judgeLayout } from "./member-layout.ts";
import {
  type CentralHeader,
  END_RECORD_BYTES,
  type EndRecord,
  FLAG_ENCRYPTED,
  FLAG_MASKED,
  IN_ZIP64_FIELD,
  isSized,
  type LocalHeader,
  METHOD_STORED,
} from "./zip-headers.ts";

/**
 * Where the engine and the common unzippers read the same file differently, its OK is no proof: they unpack what it
 * never saw. Every rule here stands for files that ClamAV 1.4.6 calls OK while unzip, 7-Zip or Python's zipfile take
 * malware out of them. Ordinary archives break none of them.
 */
export interface ZipSeen {
  head: string;
  sizeBytes: number;
  locals: LocalHeaders;
  /** The last end record that an unzipper may believe. */
  end: SeenEnd | undefined;
  /** What speaks against the archives of the file if it is no zip, but something with an archive behind it. */
  appended: Objection | undefined;
  /** Where the last signature of an end record stands, believable or not: the one that the engine takes. */
  lastEndAt: number | undefined;
  /** Where the signature of an Android package ends: it stands between the last member and the directory. */
  androidSignatureEndAt: number | undefined;
}

export interface SeenEnd extends EndRecord {
  /** The directory in front of it. */
  chain: DirectoryEntry | undefined;
  zip64: boolean;
}

/** Unzippers look for the end record this far from the end of the file. A comment has 64 KiB at most; some look further. */
const TAIL_BYTES = 128 * 1024;
/** Flags that must be the same in both headers of a member, because the engine goes by the local one. */
const TELLING_FLAGS = FLAG_ENCRYPTED | FLAG_MASKED;

export function judgeStructure(seen: ZipSeen): Objection | undefined {
  const { head, end, sizeBytes } = seen;
  const opensAsZip = end !== undefined && end.at + END_RECORD_BYTES + TAIL_BYTES >= sizeBytes;
  if (!opensAsZip && !beginsAsZip(head)) return undefined;

  const kind = headKind(head);
  if (kind === "disguised zip") return notUnpacked("a zip that the engine takes for a tar or a disk");
  if (kind === "zip") return judgeZip(seen);
  if (!opensAsZip) return undefined;
  const endsTheFile = end.at + END_RECORD_BYTES + end.commentBytes === sizeBytes;
  if (kind === "container" && !endsTheFile) return undefined;
  if (kind === "program" || (kind === "other" && !endsTheFile)) return seen.appended;
  return notUnpacked(`a zip behind something else (${kind})`);
}

/** The engine reads the directory at the offset that the very last end record tells, and nothing but that. */
function judgeZip(seen: ZipSeen): Objection | undefined {
  const { end, lastEndAt } = seen;
  if (lastEndAt === undefined) return judgeTruncated(seen);
  if (!end || end.at !== lastEndAt) return notUnpacked("the last end record belongs to no directory");
  if (end.directoryOffset + end.directoryBytes !== end.at) return notUnpacked("the directory is not where it says");
  const { locals, androidSignatureEndAt, head } = seen;
  return judgeMembers(locals, end, { firstAt: firstHeaderAt(head), allSized: false, androidSignatureEndAt });
}

/**
 * Behind a program the engine has local headers only: sizes that stand elsewhere are unknown to it. To be asked of each
 * archive in the file: programs differ in which one they open.
 */
export function judgeAppended(locals: LocalHeaders, end: SeenEnd): Objection | undefined {
  return judgeMembers(locals, end, { firstAt: undefined, allSized: true, androidSignatureEndAt: undefined });
}

interface Expected {
  firstAt: number | undefined;
  /** No member has its sizes behind it. */
  allSized: boolean;
  androidSignatureEndAt: number | undefined;
}

/** Each entry of the directory and the local header it points at must tell the same. */
function judgeMembers(locals: LocalHeaders, end: SeenEnd, expected: Expected): Objection | undefined {
  if (end.zip64) return notUnpacked("zip64 end record");
  const directoryAt = end.at - end.directoryBytes;
  const shift = directoryAt - end.directoryOffset;
  const listed = new Map<number, number>();
  for (let entry = end.chain; entry; entry = entry.previous) {
    const { header } = entry;
    const index = locals.indexAt(header.localOffset + shift);
    const local = locals.get(index);
    if (!local && locals.overflowed()) return beyondLimits("more local headers than are looked at");
    if (!local || local.at >= directoryAt) return notUnpacked("a member is not where the directory says");
    const objection = judgeMember(local, header);
    if (objection) return objection;
    if (expected.allSized && !isSized(local)) return notUnpacked("an appended zip with sizes behind its members");
    if (listed.has(index)) return notUnpacked("two entries for one member");
    listed.set(index, header.packedBytes);
    if (header.at !== directoryAt) continue;
    if ((listed.size & 0xffff) !== end.entries) return notUnpacked("the directory has another number of entries");
    return judgeLayout({ locals, listed, directoryAt, ...expected });
  }
  return notUnpacked("the end record tells of another directory than the one before it");
}

function judgeMember(local: LocalHeader, header: CentralHeader): Objection | undefined {
  const { method, packedBytes, unpackedBytes } = header;
  if (local.method !== method) return notUnpacked(`a member's methods differ: ${local.method}, ${method}`);
  if (((local.flags ^ header.flags) & TELLING_FLAGS) !== 0) return notUnpacked("a member's flags differ");
  if ((header.flags & FLAG_MASKED) !== 0) return notUnpacked("a member's header is masked");
  if (isSized(local) && (local.packedBytes !== packedBytes || local.unpackedBytes !== unpackedBytes)) {
    return notUnpacked("a member's sizes differ");
  }
  if (method === METHOD_STORED && packedBytes !== unpackedBytes) return notUnpacked("a stored member has two sizes");
  return undefined;
}

/**
 * Without an end record the engine unpacks nothing. 7-Zip takes out whatever is whole in front of the cut, and a member
 * whose size nobody knows may be whole. A zip cut within its first member is left to the engine: no program gets the
 * packed file out of it.
 */
function judgeTruncated({ head, locals, sizeBytes }: ZipSeen): Objection | undefined {
  let local = locals.get(locals.indexAt(firstHeaderAt(head)));
  while (local) {
    const known = isSized(local) && local.packedBytes !== IN_ZIP64_FIELD;
    const endAt: number = known ? local.contentAt + local.packedBytes : sizeBytes;
    if (endAt > local.contentAt && endAt <= sizeBytes)
      return notUnpacked("a zip without its end, but with whole members");
    local = known ? locals.get(locals.indexAt(endAt)) : undefined;
  }
  return undefined;
}
