import type { Blob } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { emit, type Opener, type Outcome, type Place, type Range, type Tools, whole } from "../opener.ts";
import { decodeBase64, findBase64 } from "./base64-runs.ts";
import { decodeEscaped, findEscaped } from "./escapes.ts";
import { decodeHex, findHex } from "./hex.ts";
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
} from "./line-formats.ts";
import { type MemberWriter, memberWriter, type Text, textOf, textRegions, utf16Order, writeUtf16 } from "./text.ts";

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
  try {
    forEachRun(content, undefined, () => {
      throw new Candidate();
    });
  } catch (error) {
    if (error instanceof Candidate) return [place];
    throw error;
  }
  return [];
}

/** Leaves the search: one run is enough to know that there are any. */
class Candidate extends Error {}

interface Run extends Range {
  encoding: string;
  decode(text: Text, range: Range, writer: MemberWriter): void;
}

function forEachRun(content: Blob, budget: Budget | undefined, found: (run: Run) => void): void {
  const scan = (encoding: string, decode: Run["decode"]): ((range: Range) => void) => {
    return ({ start, end }) => found({ encoding, decode, start, end });
  };
  // Each search has a text of its own, which goes on where it was in the last region: none loads a piece twice.
  const [forYenc, forBase64, forHex, forEscapes, forUu, forAscii85, forQuoted] = Array.from({ length: 7 }, () =>
    textOf(content, budget),
  ) as [Text, Text, Text, Text, Text, Text, Text];
  findYenc(forYenc, scan("yenc", decodeYencOnce));
  for (const region of textRegions(content, budget)) {
    findBase64(forBase64, region, scan("base64", decodeBase64));
    findHex(forHex, region, scan("hex", decodeHex));
    findEscaped(forEscapes, region, scan("escaped", decodeEscaped));
    findUu(forUu, region, ({ alphabet, ...lines }) => {
      const decode: Run["decode"] = (text, range, writer) => decodeUu(text, { ...range, alphabet }, writer);
      found({ encoding: "uu", decode, ...lines });
    });
    findAscii85(forAscii85, region, scan("ascii85", decodeAscii85));
    if (isQuotedPrintable(forQuoted, region)) scan("quoted-printable", decodeQuotedPrintable)(region);
  }
}

function decodeYencOnce(text: Text, range: Range, writer: MemberWriter): void {
  decodeYenc(text, range, { writer, stuffed: false });
}

function open(container: Blob, { sink, budget }: Tools): Outcome {
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
  forEachRun(container, budget, (run) => {
    if (isDigest(text, run) && digests.take(text, run)) return;
    writer.begin(`${run.encoding} at ${run.start}`);
    run.decode(text, run, writer);
    writer.end();
    if (run.encoding !== "yenc" || !hasDoubledDots(text, run)) return;
    writer.begin(`yenc at ${run.start}, dots undone`);
    decodeYenc(text, run, { writer, stuffed: true });
    writer.end();
  });
  digests.end();
  return { kind: "opened", covered: whole(container) };
}

function isDigest(text: Text, run: Run): boolean {
  const length = run.end - run.start;
  if (run.encoding === "hex") return length === 128;
  return (
    run.encoding === "base64" && length >= 86 && length <= 88 && text.string(run.start - 7, run.start) === "sha512-"
  );
}

interface DigestCollector {
  /** Whether it was taken: what reads as text is no digest. */
  take(text: Text, run: Run): boolean;
  end(): void;
}

/** SHA-512 in letters: a lock file has thousands, which become one member with a line each. */
function digestCollector(sink: Tools["sink"]): DigestCollector {
  let lines: Uint8Array[] = [];
  function end(): void {
    if (lines.length > 0) emit(sink, { name: "digests", content: Buffer.concat(lines) });
    lines = [];
  }
  return {
    take(text, run) {
      const bytes: number[] = [];
      const byte = (value: number): void => void bytes.push(value);
      run.decode(text, run, { begin() {}, byte, bytes() {}, end() {} });
      if (bytes.every((value) => value < 128)) return false;
      lines.push(Uint8Array.from([...bytes, 10]));
      if (lines.length >= DIGESTS_AT_ONCE) end();
      return true;
    },
    end,
  };
}

const DIGESTS_AT_ONCE = 4096;
