import { type Blob, memoryBlob, type Range } from "../blob.ts";
import { byteAt } from "../byte-pattern.ts";
import { inflateFrom } from "../inflate.ts";
import { emit, emitStored, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";

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
    return bodyOf(container, "body", tools) ?? { kind: "opened", covered: [] };
  },
};

const HTTP = /^HTTP\/\d/;

/** Gives out what an answer carries, in each way that it may be read. Returns what is wrong with it, if anything is. */
function bodyOf(content: Blob, name: string, tools: Tools): Outcome | undefined {
  const head = content.bytes(0, HEADER_BYTES).toString("latin1");
  const lines = head.match(/^[\s\S]*?\r?\n\r?\n/)?.[0];
  if (lines === undefined || !HTTP.test(head)) return undefined;
  const body = content.slice(lines.length, content.size);
  emitStored(tools.sink, { name, content: body });
  const isDeflated = /^content-encoding:.*deflate/im.test(lines);
  const problem = isDeflated ? emitInflated(body, name, tools) : undefined;
  if (!/^transfer-encoding:.*chunked/im.test(lines)) return problem;
  const isInMemory = isDeflated && body.size <= tools.budget.limits.memberInMemoryBytes;
  const joined: Uint8Array[] = [];
  tools.sink.begin(name);
  for (const bytes of chunksOf(body)) {
    tools.sink.write(bytes);
    if (isInMemory) joined.push(Buffer.from(bytes));
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
  return inflated.kind === "cut" && inflated.content.length > 0 ? { kind: "unreadable" } : undefined;
}

function* chunksOf(body: Blob): Generator<Buffer> {
  for (let at = 0; at < body.size; ) {
    const line = body
      .bytes(at, CHUNK_LINE_BYTES)
      .toString("latin1")
      .match(/^([0-9a-f]{1,12})[^\r\n]*\r?\n/i);
    const length = Number.parseInt(line?.[1] ?? "0", 16);
    if (!line || length === 0) break;
    at += line[0].length;
    for (let done = 0; done < length && at + done < body.size; done += PIECE_BYTES) {
      yield body.bytes(at + done, Math.min(PIECE_BYTES, length - done));
    }
    at += length + 2;
  }
}

const CHUNK_LINE_BYTES = 200;
