import { constants, inflateRawSync } from "node:zlib";
import { type Blob, memoryBlob } from "../../look/blob.ts";
import type { MemberSink } from "../seven-zip/emscripten-files.ts";
import type { UnpackOutcome } from "../seven-zip/unpack-outcome.ts";
import { findAll, findFirst } from "./text-search.ts";

/** Whether a file is a PDF: readers accept the mark anywhere in the first kilobyte. */
export function isPdf(head: Buffer): boolean {
  return head.subarray(0, 1024).includes("%PDF-");
}

/**
 * The compressed streams of a PDF: scripts, pages, attached files. Those that are archives or documents of their own come
 * out one by one (`isContainer` decides), all others together: there may be very many, and what is in them is a part of the
 * document. Pictures are left out; streams in other codings than Flate are seen as they are.
 */
export function unpackPdf(
  document: Blob,
  sink: MemberSink,
  options: { streamBytes: number; isContainer(content: Blob): boolean },
): UnpackOutcome {
  if (findFirst(document, /\/Encrypt\s+\d+\s+\d+\s+R/g, 0)) return { kind: "encrypted" };
  let joined: Buffer[] = [];
  let joinedBytes = 0;
  const flush = (): void => {
    if (joined.length > 0) emit(Buffer.concat(joined), sink);
    joined = [];
    joinedBytes = 0;
  };

  for (const { position, text } of findAll(document, /stream\r?\n/g)) {
    const before = document.bytes(Math.max(0, position - DICTIONARY_BYTES), Math.min(position, DICTIONARY_BYTES));
    const dictionary =
      before
        .toString("latin1")
        .split(/\bobj\b/)
        .at(-1) ?? "";
    if (
      dictionary.endsWith("end") ||
      !/\/(FlateDecode|Fl)\b/.test(dictionary) ||
      /\/Subtype\s*\/Image/.test(dictionary)
    )
      continue;
    const content = inflate(document, position + text.length, options.streamBytes);
    if (content === "too-large") return { kind: "too-large" };
    if (options.isContainer(memoryBlob(content))) {
      emit(content, sink);
      continue;
    }
    joined.push(content, SEPARATOR);
    joinedBytes += content.length;
    if (joinedBytes > JOINED_BYTES) flush();
  }
  flush();
  return { kind: "unpacked", tailBytes: 0 };
}

const DICTIONARY_BYTES = 2048;
const JOINED_BYTES = 4 * 1024 * 1024;
const ZLIB_HEADER_BYTES = 2;
const SEPARATOR = Buffer.from("\n");

/**
 * Without regard to the checksum, which readers do not mind either, and to what stands behind the last block. A stream that is
 * no stream at all gives nothing: the word may stand anywhere in a document.
 */
function inflate(document: Blob, start: number, maxOutputLength: number): Buffer | "too-large" {
  const end = findFirst(document, /endstream/g, start)?.position ?? document.size;
  if (end - start > maxOutputLength) return "too-large";
  const packed = document.bytes(start + ZLIB_HEADER_BYTES, Math.max(0, end - start - ZLIB_HEADER_BYTES));
  try {
    return inflateRawSync(packed, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength });
  } catch (error) {
    return error instanceof RangeError ? "too-large" : Buffer.alloc(0);
  }
}

function emit(content: Buffer, sink: MemberSink): void {
  sink.begin("");
  sink.write(content);
  sink.end();
}
