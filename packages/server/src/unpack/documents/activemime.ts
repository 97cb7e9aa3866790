import type { Blob } from "../blob.ts";
import { byteAt } from "../byte-pattern.ts";
import { inflateRaw } from "../inflate.ts";
import { emit, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/** How Office puts objects and macros into XML and HTML: a compound file, compressed, behind a header (`.mso`). */
export const activeMime: Opener = {
  kind: "activemime",
  archive: true,
  knownBy: [byteAt(0, "'A'")],
  find(content) {
    const head = headOf(content);
    if (head.toString("latin1", 0, MARK.length) !== MARK) return [];
    return [{ start: 0, end: content.size, sure: head[MARK.length] === 0 }];
  },
  open(container, tools) {
    const head = headOf(container);
    const said = head.length > OFFSET_AT + 2 ? head.readUInt16LE(OFFSET_AT) + OFFSET_FROM : OFFSETS[0];
    const outcome = openAt(container, [...new Set([said, ...OFFSETS])], tools);
    return outcome.kind === "unreadable" ? openAt(container, likelyStarts(head), tools) : outcome;
  },
};

const MARK = "ActiveMime";
/** The header has the length of a part of itself. */
const OFFSET_AT = 0x1e;
const OFFSET_FROM = 46;
/** Where Word and Excel begin the stream, whatever the header says. */
const OFFSETS = [0x32, 0x22a] as const;
const SEARCHED_BYTES = 4096;
const TRIED_AT_MOST = 32;
const ZLIB_HEADER = 2;
const ADLER_BYTES = 4;

function likelyStarts(head: Buffer): number[] {
  const starts: number[] = [];
  for (let at = MARK.length; at < Math.min(head.length, SEARCHED_BYTES); at += 1) {
    if (starts.length < TRIED_AT_MOST && isZlib(head.subarray(at, at + ZLIB_HEADER))) starts.push(at);
  }
  return starts;
}

function isZlib(head: Buffer): boolean {
  return head.length === 2 && ((head[0] ?? 0) & 0x8f) === 0x08 && head.readUInt16BE(0) % 31 === 0;
}

/** All streams that begin at these places and come out whole; if none does, as much of the first as there is. */
function openAt(container: Blob, starts: readonly number[], { sink, budget }: Tools): Outcome {
  const { memberInMemoryBytes } = budget.limits;
  let end = 0;
  let cut: Buffer | undefined;
  for (const start of starts) {
    if (!isZlib(container.bytes(start, ZLIB_HEADER))) continue;
    const inflated = inflateRaw(container.bytes(start + ZLIB_HEADER, memberInMemoryBytes), budget);
    if (inflated.kind === "too-large") return inflated;
    if (inflated.kind === "cut") cut ??= inflated.content;
    else {
      emit(sink, { name: "object", content: inflated.content });
      end = Math.max(end, Math.min(container.size, start + ZLIB_HEADER + inflated.taken + ADLER_BYTES));
    }
  }
  if (end > 0) return { kind: "opened", covered: [{ start: 0, end }] };
  if (cut) emit(sink, { name: "object", content: cut });
  return { kind: "unreadable" };
}
