import type { Blob, Range } from "../blob.ts";
import { type Opener, type Tools, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * A file that was put into a document as a package: the stream `\x01Ole10Native`. A size, the name of the file, the paths it
 * had, its size and its bytes. Other programs write their data behind the size, without names.
 */
export const oleNative: Opener = {
  kind: "ole-native",
  find(content) {
    return embeddedFile(content) ? [{ start: 0, end: content.size, sure: false }] : [];
  },
  open(container, tools) {
    const file = embeddedFile(container);
    if (!file) return { kind: "unreadable" };
    give(container, file, tools);
    const rest = container.size - file.end;
    return { kind: "opened", covered: rest <= NAMES_BYTES ? whole(container) : [{ start: 0, end: file.end }] };
  },
};

/** Behind the file the names stand once more, in UTF-16. */
const NAMES_BYTES = 4096;
const NAME_AT_MOST = 4096;
const PACKAGE = 2;
const PIECE_BYTES = 1024 * 1024;

function embeddedFile(content: Blob): (Range & { name: string }) | undefined {
  const head = headOf(content);
  if (head.length < 8) return undefined;
  // In an RTF document the size has been taken off already.
  const inObject = [0, 4].map((start) => dataOfObject(head, start)).find((start) => start !== undefined);
  const found =
    packageAt(head, 4) ?? packageAt(head, 0) ?? (inObject === undefined ? undefined : packageAt(head, inObject));
  if (found) return { ...found, end: Math.min(content.size, found.end) };
  return head.readUInt32LE(0) === content.size - 4 ? { name: "native", start: 4, end: content.size } : undefined;
}

/** Where the data of a whole OLE 1 object begins: version, format (2: embedded), class, topic and item, then its size. */
function dataOfObject(head: Buffer, start: number): number | undefined {
  if (head.length < start + 24 || head.readUInt16LE(start) !== 0x0501 || head.readUInt32LE(start + 4) !== 2)
    return undefined;
  let at = start + 8;
  for (const _ of ["class", "topic", "item"]) {
    if (at + 4 > head.length) return undefined;
    at += 4 + head.readUInt32LE(at);
  }
  return at + 4 < head.length ? at + 4 : undefined;
}

function packageAt(head: Buffer, start: number): (Range & { name: string }) | undefined {
  if (head.length < start + 16 || head.readUInt16LE(start) !== PACKAGE) return undefined;
  const label = stringEnd(head, start + 2);
  const path = label === undefined ? undefined : stringEnd(head, label + 1);
  if (label === undefined || path === undefined || path + 9 > head.length) return undefined;
  // Two bytes of no meaning, then what kind of package: 1 is a link, 3 an embedded file.
  const kind = head.readUInt16LE(path + 3);
  if (kind !== 1 && kind !== 3) return undefined;
  const temporary = path + 9 + head.readUInt32LE(path + 5);
  if (temporary + 4 > head.length) return undefined;
  const size = head.readUInt32LE(temporary);
  return { name: head.toString("latin1", start + 2, label), start: temporary + 4, end: temporary + 4 + size };
}

function stringEnd(head: Buffer, start: number): number | undefined {
  const end = head.indexOf(0, start);
  return end < 0 || end - start > NAME_AT_MOST ? undefined : end;
}

function give(container: Blob, file: Range & { name: string }, { sink, budget }: Tools): void {
  sink.begin(file.name);
  for (let at = file.start; at < file.end; at += PIECE_BYTES) {
    const piece = container.bytes(at, Math.min(PIECE_BYTES, file.end - at));
    budget.addWork(piece.length);
    sink.write(piece);
  }
  sink.end();
}
