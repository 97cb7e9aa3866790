import type { Blob, Range } from "../blob.ts";
import { emitStored, type Opener, type Tools } from "../opener.ts";
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
      bodyOf(content, name, tools);
      covered.push({ start: at, end: start + content.size });
      at = start + content.size;
    }
    return covered.length === 0 ? { kind: "unreadable" } : { kind: "opened", covered };
  },
};

const VERSION = /^WARC\/\d/;
const HEADER_BYTES = 64 * 1024;
const BLANK_LINE = 4;
const PIECE_BYTES = 1024 * 1024;

function bodyOf(content: Blob, name: string, tools: Tools): void {
  const head = content.bytes(0, HEADER_BYTES).toString("latin1");
  const end = head.indexOf("\r\n\r\n");
  if (end < 0 || !/^HTTP\/\d/.test(head)) return;
  const body = content.slice(end + BLANK_LINE, content.size);
  emitStored(tools.sink, { name, content: body });
  if (/^transfer-encoding:.*chunked/im.test(head.slice(0, end))) copyChunks(body, name, tools);
}

function copyChunks(body: Blob, name: string, tools: Tools): void {
  tools.sink.begin(name);
  for (let at = 0; at < body.size; ) {
    const line = body
      .bytes(at, CHUNK_LINE_BYTES)
      .toString("latin1")
      .match(/^([0-9a-f]{1,12})[^\r\n]*\r?\n/i);
    const length = Number.parseInt(line?.[1] ?? "0", 16);
    if (!line || length === 0) break;
    at += line[0].length;
    for (let done = 0; done < length && at + done < body.size; done += PIECE_BYTES) {
      tools.sink.write(body.bytes(at + done, Math.min(PIECE_BYTES, length - done)));
    }
    at += length + 2;
  }
  tools.sink.end();
}

const CHUNK_LINE_BYTES = 200;
