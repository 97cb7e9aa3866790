import { type Blob, memoryBlob, piecesOf, type Range } from "../blob.ts";
import { byteAt } from "../byte-pattern.ts";
import { inflateFrom } from "../inflate.ts";
import { emit, emitStored, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";
import { runsToEnd } from "./streams.ts";

/**
 * Web archives (WARC), as crawlers and browsers keep pages: records of a header and a content. A content that is an answer
 * of a web server comes out as it is and without the server's header, put together again if it was sent in chunks.
 */
export const warc: Opener = {
  kind: "warc",
  archive: true,
  find: (content) =>
    VERSION.test(headOf(content).toString("latin1", 0, 16)) ? [{ start: 0, end: content.size, sure: true }] : [],
  open(container, tools) {
    const covered: Range[] = [];
    let problem: Outcome | undefined;
    let at = 0;
    while (at < container.size) {
      tools.budget.check();
      const header = container.bytes(at, HEADER_BYTES).toString("latin1");
      const lead = header.match(/^[\r\n]*/)?.[0].length ?? 0;
      const end = header.indexOf("\r\n\r\n", lead);
      // A header that the end of the file cuts off.
      if (end < 0 && covered.length > 0 && VERSION.test(header.slice(lead))) problem ??= { kind: "unreadable" };
      const length = header.slice(lead, end).match(/^content-length:[ \t]*(\d{1,15})[ \t]*\r?$/im)?.[1];
      if (end < 0 || length === undefined || !VERSION.test(header.slice(lead))) break;
      tools.budget.addWork(end);
      const start = at + end + BLANK_LINE;
      const content = container.slice(start, Math.min(container.size, start + Number(length)));
      const name = header.slice(lead, end).match(/^warc-target-uri:[ \t]*(.*?)\r?$/im)?.[1] ?? "";
      emitStored(tools.sink, { name, content });
      problem ??= bodyOf(content, name, tools);
      if (content.size < Number(length)) problem ??= { kind: "unreadable" };
      covered.push({ start: at, end: start + content.size });
      at = start + content.size;
    }
    if (problem) return problem;
    return covered.length === 0 ? { kind: "unreadable" } : { kind: "opened", covered };
  },
};

const VERSION = /^WARC\/\d/;
const HEADER_BYTES = 64 * 1024;
const BLANK_LINE = 4;
const PIECE_BYTES = 1024 * 1024;

/** A recorded answer of a web server without a web archive around it. */
export const httpAnswer: Opener = {
  kind: "http",
  knownBy: [byteAt(0, "'H'")],
  find: (content) =>
    HTTP.test(headOf(content).toString("latin1", 0, 16)) ? [{ start: 0, end: content.size, sure: false }] : [],
  open(container, tools) {
    const problem = bodyOf(container, "body", tools);
    if (problem?.kind !== "too-large" && isCutOff(container)) return { kind: "unreadable", proven: true };
    return problem ?? { kind: "opened", covered: [] };
  },
};

const HTTP = /^HTTP\/\d/;

/**
 * Whether the body of an answer is shorter than its header says, or lacks its last chunk. Where it is text, all of it can be seen, and
 * handbooks shorten their examples.
 */
function isCutOff(content: Blob): boolean {
  const head = content.bytes(0, HEADER_BYTES).toString("latin1");
  const lines = head.match(/^[\s\S]*?\r?\n\r?\n/)?.[0] ?? head;
  const body = content.slice(lines.length, content.size);
  if (!body.bytes(0, PIECE_BYTES).some((byte) => byte < 0x09 || (byte > 0x0d && byte < 0x1b))) return false;
  if (!CHUNKED.test(lines))
    return Number(lines.match(/^content-length:[ \t]*(\d{1,15})[ \t]*\r?$/im)?.[1] ?? 0) > body.size;
  let end = 0;
  for (const { start, length } of chunksOf(body)) {
    if (length === 0) return false;
    end = start + length;
  }
  // A body may have been put together without anybody changing the header.
  return end > 0 && end + CHUNK_END_BYTES >= body.size;
}

const CHUNKED = /^transfer-encoding:.*chunked/im;
const CHUNK_END_BYTES = 2;

/** Gives out what an answer carries, in each way that it may be read. Returns what is wrong with it, if anything is. */
function bodyOf(content: Blob, name: string, tools: Tools): Outcome | undefined {
  const head = content.bytes(0, HEADER_BYTES).toString("latin1");
  const lines = head.match(/^[\s\S]*?\r?\n\r?\n/)?.[0];
  if (lines === undefined || !HTTP.test(head)) return undefined;
  const body = content.slice(lines.length, content.size);
  emitStored(tools.sink, { name, content: body });
  const isDeflated = /^content-encoding:.*deflate/im.test(lines);
  const problem = isDeflated ? emitInflated(body, name, tools) : undefined;
  if (!CHUNKED.test(lines)) return problem;
  const isInMemory = isDeflated && body.size <= tools.budget.limits.memberInMemoryBytes;
  const joined: Uint8Array[] = [];
  tools.sink.begin(name);
  for (const { start, length } of chunksOf(body)) {
    for (const { bytes } of piecesOf(body.slice(start, Math.min(body.size, start + length)), PIECE_BYTES)) {
      tools.sink.write(bytes);
      if (isInMemory) joined.push(Buffer.from(bytes));
    }
  }
  tools.sink.end();
  if (!isDeflated) return undefined;
  return isInMemory ? emitInflated(memoryBlob(Buffer.concat(joined)), name, tools) : { kind: "too-large" };
}

/** Inflates a body without a header of zlib, which many programs take for deflate too; that with one is a container of its own. */
function emitInflated(body: Blob, name: string, { sink, budget }: Tools): Outcome | undefined {
  const inflated = inflateFrom(body, 0, budget);
  if (inflated.kind === "too-large") return inflated;
  if (inflated.content.length > 0) emit(sink, { name, content: inflated.content });
  if (inflated.kind === "whole" || inflated.content.length === 0) return undefined;
  return { kind: "unreadable", proven: runsToEnd(body, 0, inflated) };
}

/** Where chunks are, as far as there are any; the last one has no bytes. */
function* chunksOf(body: Blob): Generator<{ start: number; length: number }> {
  for (let at = 0; at < body.size; ) {
    const line = body
      .bytes(at, CHUNK_LINE_BYTES)
      .toString("latin1")
      .match(/^([0-9a-f]{1,12})[^\r\n]*\r?\n/i);
    if (!line) return;
    const [start, length] = [at + line[0].length, Number.parseInt(line[1] ?? "0", 16)];
    yield { start, length };
    if (length === 0) return;
    at = start + length + CHUNK_END_BYTES;
  }
}

const CHUNK_LINE_BYTES = 200;
