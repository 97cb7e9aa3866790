import type { Blob } from "../look/blob.ts";
import { type ArchiveKind, archiveKinds } from "./archive-kinds.ts";
import { CUT_ZIP, MAIL, PDF, RTF } from "./archive-signatures.ts";
import { unpackMail } from "./documents/mail-parts.ts";
import { unpackPdf } from "./documents/pdf-streams.ts";
import { unpackRtf } from "./documents/rtf-objects.ts";
import type { MemberSink } from "./seven-zip/emscripten-files.ts";
import { type UnpackOptions, unpack } from "./seven-zip/seven-zip.ts";
import type { UnpackOutcome } from "./seven-zip/unpack-outcome.ts";
import { unpackCutZip } from "./zip/cut-zip.ts";
import type { ListedMember } from "./zip/zip-end.ts";
import { emitMember, type MemberOutcome, readLocalHeader } from "./zip/zip-member.ts";

/** What is unpacked without 7-Zip is unpacked in memory: a member may have this many bytes. */
const IN_MEMORY_BYTES = 64 * 1024 * 1024;

/** Unpacks one layer of a file, in the way that `kind` says, into the sink. */
export async function openArchive(
  file: Blob,
  kind: ArchiveKind,
  { sink, ...options }: Omit<UnpackOptions, "type"> & { sink: MemberSink },
): Promise<UnpackOutcome> {
  const archive = file.slice(kind.start, kind.end);
  switch (kind.type) {
    case undefined:
      return { kind: "unreadable" };
    case CUT_ZIP:
      return unpackCutZip(archive, sink, { memberBytes: IN_MEMORY_BYTES });
    case MAIL:
      return unpackMail(archive, sink);
    case RTF:
      return unpackRtf(archive, sink);
    case PDF:
      return unpackPdf(archive, sink, {
        streamBytes: IN_MEMORY_BYTES,
        isContainer: (part) => archiveKinds(part).length > 0,
      });
    default: {
      const outcome = await unpack(archive, sink, { ...options, type: kind.type });
      const others = (kind.passedOver ?? []).map((listed) => emitListed(file, listed, sink));
      const failed = others.find((other) => other.kind !== "emitted");
      return outcome.kind === "unpacked" && failed ? { kind: failed.kind } : outcome;
    }
  }
}

function emitListed(file: Blob, listed: ListedMember, sink: MemberSink): MemberOutcome {
  const header = readLocalHeader(file, listed.position);
  if (!header) return { kind: "unreadable" };
  return emitMember(file, { ...header, packedBytes: listed.packedBytes }, { sink, memberBytes: IN_MEMORY_BYTES });
}
