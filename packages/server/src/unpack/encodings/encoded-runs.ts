import { constants, inflateRawSync, type ZlibOptions } from "node:zlib";
import type { Blob, Range } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { emit, type Opener, type Outcome, type Place, type Tools, whole } from "../opener.ts";
import { marksIn } from "../signature-search.ts";
import { BASE64_BREAKS } from "./base64-gaps.ts";
import { decodeBase64, findBase64 } from "./base64-runs.ts";
import { unbrokenStretches } from "./candidates.ts";
import { decodeEscaped, findEscaped, mayBeEscaped } from "./escapes.ts";
import { decodeHex, findHex, HEX_BREAKS } from "./hex.ts";
import {
  decodeAscii85,
  decodeQuotedPrintable,
  decodeUu,
  decodeYenc,
  findAscii85,
  findUu,
  findYenc,
  hasDoubledDots,
  isQuotedPrintable,
  mayBeQuotedPrintable,
  mayBeUu,
  type UuLines,
} from "./line-formats.ts";
import { type MemberWriter, memberWriter, type Text, textOf } from "./text.ts";
import { textRegions, utf16Order, writeUtf16 } from "./text-regions.ts";

/**
 * Data that is written in letters, wherever a long enough run of it stands in a text: base64, hexadecimal, escaped
 * strings, UU, yEnc, quoted-printable, ASCII85; and text of two bytes a character, which comes out as one of one byte so
 * that all of these are found in it. One layer: what is encoded twice is found again in the member.
 *
 * A run is a try. Whether it means anything nobody knows, so one that does not decode says nothing.
 */
export const encodedRuns: Opener = { kind: "encoded", find, open };

/** Shorter contents hold no run. */
const CONTENT_BYTES = 54;

function find(content: Blob): readonly Place[] {
  if (content.size < CONTENT_BYTES) return [];
  const place: Place = { start: 0, end: content.size, sure: false };
  if (utf16Order(content)) return [place];
  const runs: Run[] = [];
  try {
    forEachRun(content, undefined, (run) => {
      runs.push(run);
      if (runs.length > REMEMBERED_AT_MOST) throw new Enough();
    });
    remembered.set(place, runs);
  } catch (error) {
    if (!(error instanceof Enough)) throw error;
  }
  return runs.length > 0 ? [place] : [];
}

/** Leaves the search: that many runs are looked for again when they are wanted. */
class Enough extends Error {}

/** Whoever is told of a place mostly wants to open it next. */
const remembered = new WeakMap<Place, readonly Run[]>();
const REMEMBERED_AT_MOST = 4096;

interface Run extends Range {
  encoding: string;
  decode(text: Text, range: Range, writer: MemberWriter): void;
}

function forEachRun(content: Blob, budget: Budget | undefined, found: (run: Run) => void): void {
  const scan = (encoding: string, decode: Run["decode"]): ((range: Range) => void) => {
    return ({ start, end }) => found({ encoding, decode, start, end });
  };
  function foundUu({ alphabet, prefix, masked, ...lines }: UuLines): void {
    const decode: Run["decode"] = (text, range, writer) =>
      decodeUu(text, { ...range, alphabet, prefix, masked }, writer);
    found({ encoding: "uu", decode, ...lines });
  }
  // Each search of a file has a text of its own, which goes on where it was in the last region: none loads a piece twice.
  const forYenc = textOf(content, budget);
  const [forBase64, forHex, forEscapes, forUu, forAscii85, forQuoted] = Array.from({ length: 6 }, () =>
    content.inMemory ? forYenc : textOf(content, budget),
  ) as [Text, Text, Text, Text, Text, Text];
  if (marksIn(content, "yenc").length > 0) findYenc(forYenc, scan("yenc", decodeYencOnce));
  for (const region of textRegions(content)) {
    budget?.addWork(region.end - region.start);
    for (const stretch of unbrokenStretches(content, region, BASE64_BREAKS))
      findBase64(forBase64, stretch, scan("base64", decodeBase64));
    for (const stretch of unbrokenStretches(content, region, HEX_BREAKS))
      findHex(forHex, stretch, scan("hex", decodeHex));
    if (mayBeEscaped(forEscapes, region)) findEscaped(forEscapes, region, scan("escaped", decodeEscaped));
    if (mayBeUu(forUu, region)) findUu(forUu, region, foundUu);
    findAscii85(forAscii85, region, scan("ascii85", decodeAscii85));
    if (mayBeQuotedPrintable(forQuoted, region) && isQuotedPrintable(forQuoted, region))
      scan("quoted-printable", decodeQuotedPrintable)(region);
  }
}

function decodeYencOnce(text: Text, range: Range, writer: MemberWriter): void {
  decodeYenc(text, range, { writer, stuffed: false });
}

function open(container: Blob, { sink, budget, decoded = [] }: Tools, place?: Place): Outcome {
  const writer = memberWriter(sink);
  const text = textOf(container, budget);
  const order = utf16Order(container);
  if (order) {
    budget.addWork(container.size);
    writer.begin("text");
    writeUtf16(container, order, writer);
    writer.end();
    return { kind: "opened", covered: whole(container) };
  }
  const digests = digestCollector(sink);
  const isDone = insideOf(decoded);
  const runs = place && remembered.get(place);
  const isPart = partsAmong(runs ?? []);
  function give(run: Run): void {
    if (isDone(run)) return;
    if ((isDigest(text, run) || isEncryptedValue(text, run)) && digests.take(text, run)) return;
    writer.begin(`${run.encoding} at ${run.start}`, undefined, {
      isPart: isPart(run),
      leftover: isCutByText(text, run),
    });
    run.decode(text, run, writer);
    writer.end();
    if (run.encoding === "base64") giveInflated(text, run, { sink, budget });
    if (run.encoding !== "yenc" || !hasDoubledDots(text, run)) return;
    writer.begin(`yenc at ${run.start}, dots undone`);
    decodeYenc(text, run, { writer, stuffed: true });
    writer.end();
  }
  if (runs) {
    budget.addWork(SEARCHES * container.size);
    for (const run of runs) give(run);
  } else forEachRun(container, budget, give);
  digests.end();
  return { kind: "opened", covered: whole(container) };
}

/** Whether a longer reading begins where a run does: an archive that is cut off in one is whole in the other. */
function partsAmong(runs: readonly Run[]): (run: Run) => boolean {
  const ends = new Map<string, number>();
  const key = ({ encoding, start }: Run): string => `${encoding} ${start}`;
  for (const run of runs) ends.set(key(run), Math.max(run.end, ends.get(key(run)) ?? 0));
  return (run) => run.end < (ends.get(key(run)) ?? 0);
}

/**
 * Whether the data of a run goes on where nobody can follow, or was left out: `H4sIAAAA...`, `"H4sI" + rest`. An archive in it is
 * a guess.
 */
function isCutByText(text: Text, { encoding, end }: Run): boolean {
  if (encoding !== "base64" && encoding !== "hex") return false;
  return CUT.test(text.string(end, end + BEHIND_RUN_BYTES));
}

const BEHIND_RUN_BYTES = 16;
const CUT = /^(?:[\w.~:?!@(${^\x80-\xff/-]|[ \t]*(?:\.\.\.|\u00e2\u0080\u00a6|\[)|["'`][ \t]*(?:[+&]|\.[ \t$]))/;

/**
 * Whether a run is a stretch that has been decoded from base64, but for less of it than makes a run. One that begins elsewhere
 * in it is another reading: something may stand in front that does not belong to it.
 */
function insideOf(decoded: readonly Range[]): (run: Run) => boolean {
  // A mail may have as many parts as a text has runs: they are not all looked at for each.
  const ranges = decoded.toSorted((one, other) => one.start - other.start);
  function firstFrom(position: number): number {
    let [low, high] = [0, ranges.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ranges[middle] as Range).start < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  return ({ encoding, start, end }) => {
    if (encoding !== "base64") return false;
    for (let index = firstFrom(start - LINE_BREAKS); index < ranges.length; index += 1) {
      const range = ranges[index] as Range;
      if (range.start >= start + CONTENT_BYTES) return false;
      const outside = Math.max(0, range.start - start) + Math.max(0, end - range.end);
      if (outside < CONTENT_BYTES && end > range.start) return true;
    }
    return false;
  };
}

/** What may stand between the fields of a part and its first letter. */
const LINE_BREAKS = 4;

/**
 * Gives what a run is when it is a bare deflate stream, as PowerShell and draw.io write it. Nothing tells such a stream but that
 * it inflates to its end.
 */
function giveInflated(text: Text, run: Run, { sink, budget }: Pick<Tools, "sink" | "budget">): void {
  const beginning = { start: run.start, end: Math.min(run.end, run.start + TRIED_LETTERS) };
  if (!inflated(decodedBytes(text, run, beginning), { finishFlush: constants.Z_SYNC_FLUSH })) return;
  budget.addWork(run.end - run.start);
  const packed = decodedBytes(text, run, run);
  const content = inflated(packed, { maxOutputLength: budget.limits.memberInMemoryBytes });
  if (content && content.length >= CONTENT_BYTES) emit(sink, { name: `inflated at ${run.start}`, content });
}

const TRIED_LETTERS = 2048;
/** Bytes that may stand behind a stream: bytes of letters that were cut off, or of a word that follows. */
const BEHIND_STREAM_BYTES = 8;

function decodedBytes(text: Text, run: Run, range: Range): Buffer {
  const pieces: Uint8Array[] = [];
  const writer = memberWriter({ folder() {}, begin() {}, write: (piece) => void pieces.push(piece), end() {} });
  writer.begin("");
  run.decode(text, range, writer);
  writer.end();
  return Buffer.concat(pieces);
}

/** The content of a stream that is all of the bytes, or that goes on behind them; nothing if it is none. */
function inflated(packed: Buffer, options: ZlibOptions): Buffer | undefined {
  try {
    const answer: unknown = inflateRawSync(packed, { ...options, info: true });
    const { buffer, engine } = answer as { buffer: Buffer; engine: { bytesWritten: number } };
    return engine.bytesWritten >= packed.length - BEHIND_STREAM_BYTES ? buffer : undefined;
  } catch {
    return undefined;
  }
}

/** How often the searches pass over a byte, about. */
const SEARCHES = 8;

function isDigest(text: Text, run: Run): boolean {
  const length = run.end - run.start;
  if (run.encoding === "hex") return length === 128;
  return (
    run.encoding === "base64" && length >= 86 && length <= 88 && text.string(run.start - 7, run.start) === "sha512-"
  );
}

/**
 * Tells whether a run is a short value that CryptoJS or OpenSSL has encrypted, as pages and scripts hold them. What is long, or all of
 * the content, is somebody's file.
 */
function isEncryptedValue(text: Text, run: Run): boolean {
  const length = run.end - run.start;
  if (length > VALUE_LETTERS || text.size - length <= LINE_BREAKS) return false;
  if (run.encoding !== "base64") return false;
  return decodedBytes(text, run, { ...run, end: run.start + 4 * SALTED.length }).indexOf(SALTED) === 0;
}

const SALTED = "Salted__";
/** The letters of 4 KB in base64. */
const VALUE_LETTERS = 5464;

interface DigestCollector {
  /** Whether it was taken: what reads as text is no digest. */
  take(text: Text, run: Run): boolean;
  end(): void;
}

/**
 * SHA-512 and short encrypted values in letters: a file may have thousands, which become one member with a line each. It begins
 * with an empty line, as no file does that is known by its first bytes.
 */
function digestCollector(sink: Tools["sink"]): DigestCollector {
  let lines: Uint8Array[] = [];
  function end(): void {
    if (lines.length > 0) emit(sink, { name: "digests", content: Buffer.concat([Buffer.from("\n"), ...lines]) });
    lines = [];
  }
  return {
    take(text, run) {
      const bytes = decodedBytes(text, run, run);
      if (bytes.every((value) => value < 128)) return false;
      lines.push(Uint8Array.from([...bytes, 10]));
      if (lines.length >= DIGESTS_AT_ONCE) end();
      return true;
    },
    end,
  };
}

const DIGESTS_AT_ONCE = 4096;
