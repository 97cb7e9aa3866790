import { badRequest, type Problem } from "../problem.ts";
import { parseContentType, splitOutsideQuotes } from "./content-type.ts";

/**
 * Reads a multipart/form-data body that holds exactly one file, and yields that file's bytes as they arrive.
 *
 *   delimiter ─▶ headers ─▶ content ─▶ delimiter ─▶ … ─▶ closing delimiter
 *
 * Strict, because a reader that guesses sees another file than the one who trusts our answer: every line that looks
 * like a delimiter must be one, the closing delimiter must come, and nothing but a line break may stand before the first
 * and after the last. Everything around the file is bounded.
 */
const MAX_PARTS = 100;
const MAX_PART_HEADER_BYTES = 16 * 1024;
/** For parts that are not the file. */
const MAX_IGNORED_BYTES = 64 * 1024;

const CRLF = Buffer.from("\r\n");
const END_OF_HEADERS = Buffer.from("\r\n\r\n");

export async function* onlyFile(body: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Uint8Array> {
  const input = lookahead(body);
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  let ignoredBytes = 0;

  let before = "";
  for await (const piece of untilDelimiter(input, delimiter)) {
    before += piece.toString("latin1", 0, 3);
    if (!"\r\n".startsWith(before)) throw malformed("something stands before its first boundary");
  }
  let parts = 0;
  let files = 0;
  while (await partFollows(input)) {
    parts += 1;
    if (parts > MAX_PARTS) throw malformed(`it has more than ${MAX_PARTS} parts`);
    const isFile = await readHeaders(input);
    const wanted = isFile && parts === 1;
    if (isFile) files += 1;
    for await (const piece of untilDelimiter(input, delimiter)) {
      if (wanted) yield piece;
      else ignoredBytes += piece.byteLength;
      if (ignoredBytes > MAX_IGNORED_BYTES) throw notExactlyOne(parts, files);
    }
  }
  do {
    if (!/^(?:[ \t]*(?:\r\n?)?)?$/.test(input.held.toString("latin1")))
      throw malformed("something stands after its end");
  } while (await input.more());
  if (parts !== 1 || files !== 1) throw notExactlyOne(parts, files);
}

/** After a delimiter: `--` ends the form, a line break begins a part, anything else is not a delimiter's line. */
async function partFollows(input: Lookahead): Promise<boolean> {
  await input.atLeast(2);
  if (input.held.subarray(0, 2).toString("latin1") === "--") {
    input.take(2);
    return false;
  }
  let lineEnd = input.held.indexOf(CRLF);
  while (lineEnd === -1 && input.held.length < MAX_PART_HEADER_BYTES && (await input.more())) {
    lineEnd = input.held.indexOf(CRLF);
  }
  const padding = lineEnd === -1 ? undefined : input.take(lineEnd).toString("latin1");
  if (padding === undefined || !/^[ \t]*$/.test(padding)) throw malformed("a boundary line has more on it");
  // The line break stays: it also begins the headers' closing blank line when a part has no headers.
  return true;
}

async function readHeaders(input: Lookahead): Promise<boolean> {
  let end = input.held.indexOf(END_OF_HEADERS);
  while (end === -1) {
    if (input.held.length > MAX_PART_HEADER_BYTES) throw malformed("a part's headers are too long");
    if (!(await input.more())) throw cut();
    end = input.held.indexOf(END_OF_HEADERS);
  }
  if (end > MAX_PART_HEADER_BYTES) throw malformed("a part's headers are too long");
  const text = input.take(end + END_OF_HEADERS.length).toString("latin1");
  const headers = parsePartHeaders(text.slice(CRLF.length, -END_OF_HEADERS.length));
  if (headers.kind === "malformed") throw malformed(headers.why);
  return headers.isFile;
}

/** Everything up to the next delimiter, which is consumed too. */
async function* untilDelimiter(input: Lookahead, delimiter: Buffer): AsyncGenerator<Buffer> {
  for (;;) {
    const at = input.held.indexOf(delimiter);
    if (at !== -1) {
      if (at > 0) yield input.take(at);
      input.take(delimiter.length);
      return;
    }
    // The last bytes may be the beginning of a delimiter.
    const safe = input.held.length - delimiter.length + 1;
    if (safe > 0) yield input.take(safe);
    if (!(await input.more())) throw cut();
  }
}

interface Lookahead {
  readonly held: Buffer;
  take(length: number): Buffer;
  /** Adds what comes next; false at the end. */
  more(): Promise<boolean>;
  atLeast(length: number): Promise<void>;
}

/** Begins with a line break that was never sent, so that a delimiter at the very start is like every other. */
function lookahead(body: AsyncIterable<Uint8Array>): Lookahead {
  const iterator = body[Symbol.asyncIterator]();
  let held: Buffer = Buffer.from(CRLF);
  const input: Lookahead = {
    get held() {
      return held;
    },
    take(length) {
      const taken = held.subarray(0, length);
      held = held.subarray(length);
      return taken;
    },
    async more() {
      const next = await iterator.next();
      if (next.done) return false;
      held =
        held.length === 0
          ? Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength)
          : Buffer.concat([held, next.value]);
      return true;
    },
    async atLeast(length) {
      while (held.length < length) if (!(await input.more())) throw cut();
    },
  };
  return input;
}

function malformed(why: string): Problem {
  return badRequest("invalid_multipart", `the form cannot be read: ${why}`, "send multipart/form-data with one file");
}

function cut(): Problem {
  return malformed("it ends before its closing boundary");
}

function notExactlyOne(parts: number, files: number): Problem {
  return badRequest(
    "exactly_one_file",
    `the form has ${files} ${files === 1 ? "file" : "files"} in ${parts} ${parts === 1 ? "part" : "parts"}`,
    "send exactly one part, and let it be a file: curl -F file=@path",
  );
}

/** The headers of one part of a form, as far as they matter. The file's name is never used for anything. */
type PartHeaders = { kind: "part"; isFile: boolean } | { kind: "malformed"; why: string };

const MAX_HEADERS = 100;
/** Encodings that leave the bytes as they are; another one would hide the file from the engine. */
const PLAIN_ENCODINGS = ["7bit", "8bit", "binary"];

function parsePartHeaders(text: string): PartHeaders {
  const lines = text === "" ? [] : text.split("\r\n");
  if (lines.length > MAX_HEADERS) return { kind: "malformed", why: `a part has more than ${MAX_HEADERS} headers` };
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) return { kind: "malformed", why: "a part has a malformed header" };
    if (headers.has(name)) return { kind: "malformed", why: "a part has the same header twice" };
    headers.set(name, line.slice(colon + 1).trim());
  }
  const disposition = headers.get("content-disposition");
  if (!/^form-data(?:[\s;]|$)/i.test(disposition ?? "")) {
    return { kind: "malformed", why: "a part has no Content-Disposition: form-data" };
  }
  const encoding = headers.get("content-transfer-encoding")?.toLowerCase() ?? "binary";
  if (!PLAIN_ENCODINGS.includes(encoding) || headers.has("content-encoding")) {
    return { kind: "malformed", why: "a part is encoded" };
  }
  return { kind: "part", isFile: hasFilename(disposition ?? "") || hasBinaryType(headers.get("content-type")) };
}

function hasFilename(disposition: string): boolean {
  return splitOutsideQuotes(disposition).some((part) => /^\s*filename\*?\s*=/i.test(part));
}

/** A part without a file name is a field, unless it says to be more than text. */
function hasBinaryType(contentType: string | undefined): boolean {
  if (contentType === undefined) return false;
  return parseContentType(contentType)?.name !== "text/plain";
}
