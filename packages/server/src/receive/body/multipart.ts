import { isWhole, wholeWhenTaken } from "../../flow/whole-bytes.ts";
import { badRequest, type Problem } from "../problem.ts";
import { parseContentType, splitOutsideQuotes } from "./content-type.ts";

/**
 * Reads a multipart/form-data body that holds exactly one file, and hands out that file's bytes as they arrive.
 *
 *   before ─▶ boundary ─▶ headers ─▶ content ─▶ boundary ─▶ … ─▶ after
 *
 * Strict, because a reader that guesses sees another file than the one who trusts our answer: every line that looks
 * like a delimiter must be one, the closing delimiter must come, and nothing but a line break may stand before the first
 * and after the last. Everything around the file is bounded.
 */
const MAX_PARTS = 100;
const MAX_PART_HEADER_BYTES = 16 * 1024;
/** For parts that are not the file. */
const MAX_IGNORED_BYTES = 64 * 1024;
/** Of the line break and blanks after the closing delimiter. */
const MAX_AFTER_BYTES = 1024;
const CRLF = Buffer.from("\r\n");
const END_OF_HEADERS = Buffer.from("\r\n\r\n");

/** A form that is all here gives its file so, too. */
export function onlyFile(
  body: AsyncIterable<Uint8Array>,
  boundary: string,
  onName: (name: string) => void = () => {},
): AsyncIterable<Uint8Array> {
  const form = formReader(boundary, onName);
  if (!isWhole(body)) return filePieces(body, form);
  return wholeWhenTaken(() => {
    const pieces = form.read(body.takeAll());
    form.end();
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  });
}

async function* filePieces(body: AsyncIterable<Uint8Array>, form: FormReader): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield* form.read(chunk);
  form.end();
}

interface FormReader {
  /** The pieces of the file that are certain with these bytes. Throws the problem of a form that is not as it should be. */
  read(chunk: Uint8Array): Buffer[];
  /** Throws it, too, when the form should have gone on, or has not exactly one file. */
  end(): void;
}

function formReader(boundary: string, onName: (name: string) => void): FormReader {
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  let at: "before" | "boundary" | "headers" | "content" | "after" = "before";
  // Begins with a line break that was never sent, so that a delimiter at the very start is like every other.
  let held: Buffer = CRLF;
  let before = "";
  let parts = 0;
  let files = 0;
  let wanted = false;
  let ignoredBytes = 0;

  function take(length: number): Buffer {
    const taken = held.subarray(0, length);
    held = held.subarray(length);
    return taken;
  }

  /** Each answers whether there is enough to go on with. */
  const steps = {
    before: (): boolean => upToDelimiter(checkBefore),

    /** After a delimiter: `--` ends the form, a line break begins a part, anything else is not a delimiter's line. */
    boundary(): boolean {
      if (held.length < 2) return false;
      if (held[0] === DASH && held[1] === DASH) {
        take(2);
        at = "after";
        return true;
      }
      const lineEnd = held.indexOf(CRLF);
      if (lineEnd === -1 && held.length < MAX_PART_HEADER_BYTES) return false;
      if (lineEnd === -1 || !/^[ \t]*$/.test(take(lineEnd).toString("latin1"))) throw moreOnBoundary();
      parts += 1;
      if (parts > MAX_PARTS) throw malformed(`it has more than ${MAX_PARTS} parts`);
      // The line break stays: it also begins the headers' closing blank line when a part has no headers.
      at = "headers";
      return true;
    },

    headers(): boolean {
      const end = held.indexOf(END_OF_HEADERS);
      if (end > MAX_PART_HEADER_BYTES || (end === -1 && held.length > MAX_PART_HEADER_BYTES))
        throw malformed("a part's headers are too long");
      if (end === -1) return false;
      const text = take(end + END_OF_HEADERS.length).toString("latin1");
      const headers = parsePartHeaders(text.slice(CRLF.length, -END_OF_HEADERS.length));
      if (headers.kind === "malformed") throw malformed(headers.why);
      wanted = headers.isFile && parts === 1;
      if (wanted && headers.name !== undefined) onName(headers.name);
      if (headers.isFile) files += 1;
      at = "content";
      return true;
    },

    content: (): boolean => upToDelimiter(passContent),

    after(): boolean {
      if (held.length > MAX_AFTER_BYTES || !/^(?:[ \t]*(?:\r\n?)?)?$/.test(held.toString("latin1")))
        throw malformed("something stands after its end");
      return false;
    },
  };

  /** Passes on everything up to the next delimiter, which is consumed too. */
  function upToDelimiter(pass: (piece: Buffer) => void): boolean {
    const found = held.indexOf(delimiter);
    // The last bytes may be the beginning of a delimiter.
    const sure = found === -1 ? held.length - delimiter.length + 1 : found;
    if (sure > 0) pass(take(sure));
    if (found === -1) return false;
    take(delimiter.length);
    at = "boundary";
    return true;
  }

  function checkBefore(piece: Buffer): void {
    before += piece.toString("latin1", 0, 3);
    if (!"\r\n".startsWith(before)) throw malformed("something stands before its first boundary");
  }

  let pieces: Buffer[] = [];
  function passContent(piece: Buffer): void {
    if (wanted) pieces.push(piece);
    else ignoredBytes += piece.byteLength;
    if (ignoredBytes > MAX_IGNORED_BYTES) throw notExactlyOne(parts, files);
  }

  return {
    read(chunk) {
      pieces = [];
      held =
        held.length === 0
          ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
          : Buffer.concat([held, chunk]);
      while (steps[at]());
      return pieces;
    },

    end() {
      if (at === "boundary" && held.length >= 2) throw moreOnBoundary();
      if (at !== "after") throw cut();
      if (parts !== 1 || files !== 1) throw notExactlyOne(parts, files);
    },
  };
}

const DASH = 0x2d;

function moreOnBoundary(): Problem {
  return malformed("a boundary line has more on it");
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

/** The headers of one part of a form, as far as they matter. The file's name is for people's eyes alone. */
type PartHeaders = { kind: "part"; isFile: boolean; name?: string } | { kind: "malformed"; why: string };

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
  const isFile = hasFilename(disposition ?? "") || hasBinaryType(headers.get("content-type"));
  const name = filenameIn(disposition ?? "");
  return { kind: "part", isFile, ...(name !== undefined && { name }) };
}

const LONGEST_NAME = 1024;

/** As browsers write it, in UTF-8; what cannot be understood is no name. */
function filenameIn(disposition: string): string | undefined {
  for (const part of splitOutsideQuotes(disposition)) {
    const [, plain] = /^\s*filename\s*=\s*(.*?)\s*$/is.exec(part) ?? [];
    if (plain === undefined) continue;
    const text = plain.startsWith('"') ? plain.slice(1, plain.endsWith('"') ? -1 : undefined) : plain;
    const name = Buffer.from(text.replaceAll(/\\(["\\])/g, "$1"), "latin1").toString("utf8");
    return name === "" ? undefined : name.slice(0, LONGEST_NAME);
  }
  return undefined;
}

function hasFilename(disposition: string): boolean {
  return splitOutsideQuotes(disposition).some((part) => /^\s*filename\*?\s*=/i.test(part));
}

/** A part without a file name is a field, unless it says to be more than text. */
function hasBinaryType(contentType: string | undefined): boolean {
  if (contentType === undefined) return false;
  return parseContentType(contentType)?.name !== "text/plain";
}
