import type { Blob } from "../blob.ts";
import type { MemberSink } from "../seven-zip/emscripten-files.ts";
import type { UnpackOutcome } from "../seven-zip/unpack-outcome.ts";
import { findAll } from "./text-search.ts";

/** The objects embedded in an RTF document, which are written as hexadecimal numbers. */
export function unpackRtf(document: Blob, sink: MemberSink): UnpackOutcome {
  for (const { position, text } of findAll(document, /\\objdata/gi)) {
    const object = hexFrom(document.bytes(position + text.length, OBJECT_TEXT_BYTES).toString("latin1"));
    emit(object, sink);
    // The object stands behind a header of its own; if it is a compound file, that is what it has to be opened as.
    const inner = object.indexOf(COMPOUND);
    if (inner > 0) emit(object.subarray(inner), sink);
  }
  return { kind: "unpacked", tailBytes: 0 };
}

const OBJECT_TEXT_BYTES = 32 * 1024 * 1024;
const COMPOUND = Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);

/** Up to the end of the group; control words, groups inside it and white space in between mean nothing. */
function hexFrom(text: string): Buffer {
  let depth = 0;
  let end = 0;
  for (; end < text.length && depth >= 0; end += 1) {
    if (text[end] === "{") depth += 1;
    if (text[end] === "}") depth -= 1;
  }
  const digits = text
    .slice(0, end)
    .replace(/\\'[0-9a-f]{2}|\\[a-z]+-?\d*|\\[^a-z]/gi, "")
    .replace(/[^0-9a-f]+/gi, "");
  return Buffer.from(digits, "hex");
}

function emit(content: Buffer, sink: MemberSink): void {
  sink.begin("");
  sink.write(content);
  sink.end();
}
