import type { ArchiveLimits } from "../archive-look.ts";
import { beyondLimits, encrypted, notUnpacked, type Objection } from "../objection.ts";
import { type DirectoryEntry, directoryChains } from "./directory-chains.ts";
import { beginsAsZip } from "./file-head.ts";
import { localHeaders } from "./local-headers.ts";
import { judgeAppended, judgeStructure, type SeenEnd } from "./structure-rules.ts";
import {
  CENTRAL_HEADER_BYTES,
  type EndRecord,
  endRecord,
  FLAG_ENCRYPTED,
  FLAG_STRONGLY_ENCRYPTED,
  recordBytes,
  signatures,
  ZIP64_LOCATOR_BYTES,
} from "./zip-headers.ts";
import { zipRecords } from "./zip-records.ts";

/** What ClamAV unpacks: stored, imploded, deflated, deflate64, bzip2. Not LZMA (14), Zstandard (93), XZ (95), PPMd (98)... */
const KNOWN_METHODS: readonly number[] = [0, 6, 8, 9, 12];
/** Stands for the encryption of WinZip; the real method is in an extra field. */
const METHOD_ENCRYPTED = 99;
/** The end of the signature block of an Android package, from its first "PK" on. */
const ANDROID_SIGNATURE = Buffer.from("PK Sig Block 42");

export interface ZipLook {
  see(chunk: Buffer): void;
  finish(): Objection | undefined;
}

/**
 * Looks at every directory that passes, also at those of archives stored within the file, and at the structure of the
 * last one. `head` answers the first bytes of the file, as far as they have passed.
 */
export function zipLook(limits: ArchiveLimits, head: () => string): ZipLook {
  const locals = localHeaders();
  const chains = directoryChains({
    maxEntries: limits.maxEntries,
    isEncrypted: ({ flags, method }) =>
      (flags & (FLAG_ENCRYPTED | FLAG_STRONGLY_ENCRYPTED)) !== 0 || method === METHOD_ENCRYPTED,
    isKnownMethod: (method) => KNOWN_METHODS.includes(method) || method === METHOD_ENCRYPTED,
  });
  let objection: Objection | undefined;
  let end: SeenEnd | undefined;
  let appended: Objection | undefined;
  let lastEndAt: number | undefined;
  let zip64LocatorAt: number | undefined;
  let androidSignatureEndAt: number | undefined;

  const records = zipRecords((at, bytes, index) => {
    const available = bytes.length - index;
    const signature = available < 4 ? 0 : bytes.readUInt32LE(index);
    const needed = recordBytes.get(signature);
    if (needed === undefined) {
      if (signature === ANDROID_SIGNATURE.readUInt32LE(0) && isAndroidSignature(bytes, index)) {
        androidSignatureEndAt = at + ANDROID_SIGNATURE.length;
      }
      return;
    }
    if (available < needed) return;
    switch (signature) {
      case signatures.local:
        locals.add(at, bytes, index);
        break;
      case signatures.central:
        chains.header(at, bytes, index);
        if (chains.longest() > limits.maxEntries)
          raise(beyondLimits(`a directory of over ${limits.maxEntries} entries`));
        if (chains.tangled()) raise(beyondLimits("directory headers strewn about"));
        break;
      case signatures.digitalSignature:
        chains.resume(at, at + needed + bytes.readUInt16LE(index + 4));
        break;
      case signatures.zip64End:
        raise(judgeDirectory(chains.endingAt(at), limits));
        break;
      case signatures.zip64Locator:
        zip64LocatorAt = at;
        break;
      case signatures.end:
        endsHere(endRecord(at, bytes, index));
    }
  });

  function endsHere(record: EndRecord): void {
    lastEndAt = record.at;
    const chain = chains.endingAt(record.at);
    const zip64 = zip64LocatorAt === record.at - ZIP64_LOCATOR_BYTES;
    if (!chain && !zip64 && !isBelievable(record)) return;
    raise(judgeDirectory(chain, limits));
    end = { ...record, chain, zip64 };
    if (!beginsAsZip(head())) appended ??= judgeAppended(locals, end);
  }

  /** The first objection stands, unless a later one spares the engine. */
  function raise(found: Objection | undefined): void {
    if (found && (!objection || (found.hopeless && !objection.hopeless))) objection = found;
  }

  return {
    see(chunk) {
      if (!objection?.hopeless) records.see(chunk);
    },
    finish() {
      if (objection?.hopeless) return objection;
      const sizeBytes = records.finish();
      const ends = { end, appended, lastEndAt, androidSignatureEndAt };
      raise(judgeStructure({ head: head(), sizeBytes, locals, ...ends }));
      return objection;
    },
  };
}

function isAndroidSignature(bytes: Buffer, index: number): boolean {
  return bytes.subarray(index, index + ANDROID_SIGNATURE.length).equals(ANDROID_SIGNATURE);
}

/** A lone signature in a program's code is not an end record; an unzipper would not take it for one. */
function isBelievable(record: EndRecord): boolean {
  const { at, disks, entries, entriesHere, directoryBytes, directoryOffset } = record;
  const counts = entries > 0 && entriesHere === entries && disks === 0;
  return counts && directoryOffset + directoryBytes <= at && directoryBytes >= entries * CENTRAL_HEADER_BYTES;
}

function judgeDirectory(chain: DirectoryEntry | undefined, limits: ArchiveLimits): Objection | undefined {
  if (!chain) return undefined;
  const { largestBytes, totalBytes, oddMethod } = chain;
  if (largestBytes > limits.maxMemberBytes) return beyondLimits(`a zip member of ${largestBytes} bytes`);
  if (totalBytes > limits.maxTotalBytes) return beyondLimits(`zip members of ${totalBytes} bytes in all`);
  if (chain.encrypted) return encrypted("an encrypted zip member");
  if (chain.zip64) return notUnpacked("a zip64 member");
  return oddMethod === -1 ? undefined : notUnpacked(`a zip member packed with method ${oddMethod}`);
}
