import { type Blob, rangeRecorder } from "../blob.ts";
import { byteAt } from "../byte-pattern.ts";
import { copyRange } from "../encodings/text.ts";
import type { Opener, Outcome, Tools } from "../opener.ts";
import { findAll } from "../signature-search.ts";

const SECTION_AT = 8;

/** A section of OneNote (`.one`): files attached to a page stand in it as they are, each behind a mark and its size. */
export const oneNote: Opener = {
  kind: "onenote",
  archive: true,
  knownBy: [byteAt(SECTION_AT, "ae", "9e")],
  find: (content) => (isSection(content, 0) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: openSection,
};

/**
 * The numbers that a section and a table of contents begin with, {7B5C52E4-D88C-4DA7-AEB1-5378D02996D3} and
 * {43FF2FA1-EFD9-4C76-9EE2-10EA5722765F}, without the part that comes in either byte order.
 */
const SECTIONS = ["aeb15378d02996d3", "9ee210ea5722765f"].map((digits) => Buffer.from(digits, "hex"));
/** {638DE92F-A6D4-4BC1-9A36-B3FC2511A5B7}: as OneDrive hands them out, in objects cut up for the network. */
const FOR_NETWORK = Buffer.from("2fe98d63d4a6c14b9a36b3fc2511a5b7", "hex");
const FORMAT_AT = 48;
/** How long the file is: a number of eight bytes, of which no section needs more than four. */
const LENGTH_AT = 196;
/** {BDE316E7-2665-4511-A4C4-8D4D0B7A9EAC}, then eight bytes of size and twelve of no meaning. */
const FILE = Buffer.from("e716e3bd65261145a4c48d4d0b7a9eac", "hex");
const FILE_HEADER = FILE.length + 20;
/** Files are filled up to eight bytes, and {71FBA722-0F79-4A0B-BB13-899256426B24} ends them. */
const FILE_UNIT = 8;
const FILE_END = Buffer.from("22a7fb71790f0b4abb13899256426b24", "hex");
/** A file in the middle of another is a mark that somebody put there to hide the true one. All are given, up to this many. */
const INSIDE_AT_MOST = 16;

function isSection(content: Blob, at: number): boolean {
  const head = content.bytes(at + SECTION_AT, 8);
  return SECTIONS.some((section) => section.equals(head));
}

function openSection(container: Blob, { sink, budget }: Tools): Outcome {
  if (container.bytes(FORMAT_AT, FOR_NETWORK.length).equals(FOR_NETWORK)) return { kind: "unreadable" };
  const covered = rangeRecorder();
  covered.add(0, SECTION_AT + 8);
  let isCut = isShorter(container);
  let [furthest, opensItself, inside] = [0, 0, 0];
  for (const hit of findAll(container, FILE, budget)) {
    // What is in an attached section is found when that is opened.
    if (hit < opensItself) continue;
    if (hit < furthest) inside += 1;
    if (inside > INSIDE_AT_MOST) return { kind: "too-large" };
    const header = container.bytes(hit, FILE_HEADER);
    const start = hit + FILE_HEADER;
    const size = header.length < FILE_HEADER ? Number.POSITIVE_INFINITY : Number(header.readBigUInt64LE(FILE.length));
    const end = Math.min(container.size, start + size);
    if (start + size > container.size) isCut = true;
    if (end > start) {
      budget.addWork(end - start);
      sink.begin("attached");
      copyRange(container, { start, end }, (bytes) => sink.write(bytes));
      sink.end();
    }
    furthest = Math.max(furthest, end);
    if (isSection(container.slice(start, end), 0)) opensItself = Math.max(opensItself, end);
    covered.add(hit, behindEndMark(container, end));
  }
  return isCut ? { kind: "unreadable" } : { kind: "opened", covered: covered.ranges() };
}

function isShorter(container: Blob): boolean {
  const [length = 0, high = 1] = new Uint32Array(Uint8Array.from(container.bytes(LENGTH_AT, 8)).buffer);
  return high === 0 && length > container.size;
}

function behindEndMark(container: Blob, end: number): number {
  const filled = Math.ceil(end / FILE_UNIT) * FILE_UNIT;
  for (const at of [end, filled])
    if (container.bytes(at, FILE_END.length).equals(FILE_END)) return at + FILE_END.length;
  return end;
}
