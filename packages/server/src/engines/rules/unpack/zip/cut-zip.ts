import type { Blob } from "../../look/blob.ts";
import type { MemberSink } from "../seven-zip/emscripten-files.ts";
import type { UnpackOutcome } from "../seven-zip/unpack-outcome.ts";
import { emitMember, LOCAL_HEADER, readLocalHeader } from "./zip-member.ts";

/**
 * Unpacks a zip archive that has lost its end, member by member from the front, down to the last byte there is: what
 * remains of the last member comes out too. 7-Zip gives up on these. A download that broke off looks like this.
 */
export function unpackCutZip(archive: Blob, sink: MemberSink, options: { memberBytes: number }): UnpackOutcome {
  let at = 0;
  while (at + 4 <= archive.size) {
    const signature = archive.bytes(at, 4).readUInt32LE(0);
    if (AFTER_MEMBERS.includes(signature)) break;
    if (signature !== LOCAL_HEADER) return { kind: "unreadable" };
    const member = readLocalHeader(archive, at);
    // Cut off in the header.
    if (!member) break;
    const outcome = emitMember(archive, member, { sink, memberBytes: options.memberBytes });
    if (outcome.kind !== "emitted") return { kind: outcome.kind };
    at =
      member.packedBytes === undefined
        ? afterDescriptor(archive, member.start + outcome.packedBytes)
        : member.start + member.packedBytes;
  }
  return { kind: "unpacked", tailBytes: 0 };
}

/** The directory, its end, and the end for large archives: no further member follows these. */
const AFTER_MEMBERS = [0x02014b50, 0x06054b50, 0x06064b50];
const DESCRIPTOR = 0x08074b50;

/** Checksum and sizes, with or without a signature in front. */
function afterDescriptor(archive: Blob, at: number): number {
  const bytes = archive.bytes(at, 4);
  return at + (bytes.length === 4 && bytes.readUInt32LE(0) === DESCRIPTOR ? 16 : 12);
}
