import { crc32 } from "node:zlib";
import type { Blob, Range } from "../blob.ts";
import { byteAt } from "../byte-pattern.ts";
import type { Opener, Outcome, Place, Tools } from "../opener.ts";
import { decodeLzma, type LzmaEnd, type LzmaProperties, lzmaProperties } from "./lzma.ts";

/**
 * A file of LZMA and nothing else: `.lzma`. It has no signature, any byte below 225 may be its first. What tells it from
 * other files is that it can be decoded: in others a reference goes back before the beginning after a few bytes.
 */
export const lzmaAlone: Opener = {
  kind: "lzma",
  archive: true,
  find(content) {
    const header = aloneHeader(content);
    if (!header) return [];
    const place: Range = { start: 0, end: content.size };
    const verdict = tryOut(content, header);
    return verdict === "no" ? [] : [{ ...place, sure: verdict === "sure" }];
  },
  open(container, tools) {
    const header = aloneHeader(container);
    if (!header) return { kind: "unreadable" };
    tools.sink.begin("content");
    const end = decodeLzma(container, ALONE_HEADER, { ...header, ...decoding(tools) });
    tools.sink.end();
    return outcomeOf(end, [{ start: 0, end: ALONE_HEADER + end.consumed }]);
  },
};

/** Properties, the size of the dictionary in four bytes, and of the content in eight; all ones if that is not known. */
const ALONE_HEADER = 13;
/** 7-Zip believes no larger ones. */
const LIKELY_SIZE = 2 ** 56;

interface AloneHeader {
  properties: LzmaProperties;
  size: number | undefined;
}

function aloneHeader(content: Blob): AloneHeader | undefined {
  const head = content.bytes(0, ALONE_HEADER + 5);
  if (head.length < ALONE_HEADER + 5) return undefined;
  const properties = lzmaProperties(head.readUInt8(0), head.readUInt32LE(1));
  const high = head.readUInt32LE(9);
  const low = head.readUInt32LE(5);
  const isUnknown = high === 0xffff_ffff && low === 0xffff_ffff;
  const size = high * 2 ** 32 + low;
  if (!properties || size === 0) return undefined;
  // Python and xz take any size, busybox any first byte of the coded data, which the others want to be zero: a text has neither.
  if (head[ALONE_HEADER] !== 0 && !isUnknown && size >= LIKELY_SIZE) return undefined;
  return { properties, size: isUnknown ? undefined : size };
}

/** Whether the header is one, which does not say much. */
export function mayBeLzmaAlone(content: Blob): boolean {
  return aloneHeader(content) !== undefined;
}

/**
 * Of random bytes every fifth symbol refers to what is not there, so that hardly six bytes are read, and 256 never. Zeros do
 * not count: they decode to zeros for ever.
 */
const PROOF_INPUT = 256;
const TRIAL_INPUT = 4096;
/** A beginning that is all alike is decoded so far, to see what follows. */
const TRIAL_OUTPUT = 256 * 1024;
/** What breaks off or is damaged before this has been read is none: of random bytes, one in 100,000 comes so far. */
const CHANCE_INPUT = 64;

function tryOut(content: Blob, header: AloneHeader): "sure" | "maybe" | "no" {
  const coded = content.bytes(ALONE_HEADER, TRIAL_INPUT);
  let length = 0;
  for (let proof = 0; length < coded.length && proof < PROOF_INPUT; length += 1) if (coded[length] !== 0) proof += 1;
  const end = decodeLzma(content.slice(0, ALONE_HEADER + length), ALONE_HEADER, {
    ...header,
    memoryBytes: TRIAL_OUTPUT,
    stopAfter: TRIAL_OUTPUT,
    write() {},
    charge() {},
  });
  let input = 0;
  for (let i = 0; i < end.consumed; i += 1) if (coded[i] !== 0) input += 1;
  if (end.produced === 0 || input === 0) return "no";
  // Programs give out what one holds before it is cut, or as much of a longer one as is announced.
  const isCutOff = end.kind === "cut" && length === content.size - ALONE_HEADER;
  if ((end.kind === "marker" || end.kind === "size") && end.clean) return "sure";
  if (end.kind === "cut" && input >= (isCutOff ? CHANCE_INPUT : PROOF_INPUT)) return "sure";
  return input >= CHANCE_INPUT || end.kind === "stopped" || end.kind === "size" || isCutOff ? "maybe" : "no";
}

function decoding({ sink, budget }: Tools): Pick<Parameters<typeof decodeLzma>[2], "memoryBytes" | "write" | "charge"> {
  return {
    // While the dictionary grows there are two of them.
    memoryBytes: budget.limits.unpackerBytes / 2,
    write: (bytes) => sink.write(bytes),
    charge: (bytes) => budget.addWork(bytes),
  };
}

function outcomeOf(end: LzmaEnd, covered: readonly Range[]): Outcome {
  if (end.kind === "too-large") return { kind: "too-large" };
  return end.kind === "size" || end.kind === "marker" ? { kind: "opened", covered } : { kind: "unreadable" };
}

/** Files of lzip: members one behind the other, which are one content. Whatever follows that is no member is left over. */
export const lzip: Opener = {
  kind: "lzip",
  archive: true,
  knownBy: [byteAt(0, "'L'")],
  find(content): Place[] {
    return lzipDictionary(content, 0) === undefined ? [] : [{ start: 0, end: content.size, sure: true }];
  },
  open(container, tools) {
    tools.sink.begin("content");
    const outcome = openLzip(container, tools);
    tools.sink.end();
    return outcome;
  },
};

const LZIP_HEADER = 6;
/** What a member costs even if nothing is in it: its probabilities. */
const MEMBER_WORK = 32 * 1024;

/** The size of the dictionary, if a member begins here: a power of two less some sixteenths of it. */
function lzipDictionary(content: Blob, start: number): number | undefined {
  const head = content.bytes(start, LZIP_HEADER);
  if (head.length < LZIP_HEADER || head.toString("latin1", 0, 4) !== "LZIP" || head.readUInt8(4) > 1) return undefined;
  const coded = head.readUInt8(5);
  const power = 2 ** (coded & 0x1f);
  return power - (power / 16) * (coded >> 5);
}

function openLzip(container: Blob, { sink, budget, sevenZip }: Tools): Outcome {
  let at = 0;
  let isDamaged = false;
  for (let dictionaryBytes = lzipDictionary(container, 0); dictionaryBytes !== undefined; ) {
    // Version 0 did not say how long a member is.
    const trailerBytes = container.bytes(at + 4, 1)[0] === 0 ? 12 : 20;
    let checksum = 0;
    budget.addWork(MEMBER_WORK);
    const tools = decoding({ sink, budget, sevenZip });
    const end = decodeLzma(container, at + LZIP_HEADER, {
      ...tools,
      properties: { lc: 3, lp: 0, pb: 2, dictionaryBytes },
      write(bytes) {
        checksum = crc32(bytes, checksum);
        tools.write(bytes);
      },
    });
    if (end.kind !== "marker")
      return outcomeOf(end, []).kind === "too-large" ? { kind: "too-large" } : { kind: "unreadable" };
    at += LZIP_HEADER + end.consumed;
    const trailer = container.bytes(at, trailerBytes);
    if (trailer.length < trailerBytes || trailer.readUInt32LE(0) !== checksum) isDamaged = true;
    at = Math.min(container.size, at + trailerBytes);
    dictionaryBytes = lzipDictionary(container, at);
  }
  return isDamaged ? { kind: "unreadable" } : { kind: "opened", covered: [{ start: 0, end: at }] };
}
