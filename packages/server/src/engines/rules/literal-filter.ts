import { BYTES_AT_ONCE, type GroupScan, groupScan } from "./group-scan.ts";
import type { Needs, Requirements } from "./required-literals.ts";
import { folded, SHORTEST } from "./string-literals.ts";

/**
 * Says in microseconds that no rule matches, which is so for nearly every content: a scan by YARA takes a millisecond before
 * it has looked at a single byte. A rule can only match where certain literals are, and those are searched for.
 */
export interface LiteralFilter {
  /** False only if no rule that is reported matches a content of exactly these bytes. */
  mayMatch(content: Uint8Array): boolean;
}

/** `simd`: whether to use it where there is any. */
export function literalFilter(requirements: Requirements, { simd = true } = {}): LiteralFilter {
  if (requirements.kind === "unknown") return { mayMatch: () => true };
  const numbers = new Map<string, number>();
  const needs = requirements.rules.map((rule) => numbered(rule.needs, numbers));
  const search = literalSearch([...numbers.keys()], simd);
  const bySizeAlone = needs.filter(mayHoldWithoutLiterals);
  return {
    mayMatch(content) {
      const seen = search(content);
      if (!seen) return true;
      const asked = seen.includes(1) ? needs : bySizeAlone;
      return asked.some((one) => holds(one, seen, content.length));
    },
  };
}

/** `Needs`, with the numbers of literals. */
type NumberedNeeds =
  | { kind: "literals"; numbers: readonly number[] }
  | { kind: "size"; least: number; most: number }
  | { kind: "some"; count: number; of: readonly NumberedNeeds[] };

function numbered(needs: Needs, numbers: Map<string, number>): NumberedNeeds {
  if (needs.kind === "size") return needs;
  if (needs.kind === "some") return { ...needs, of: needs.of.map((one) => numbered(one, numbers)) };
  if (needs.kind === "anything") throw new Error("what needs nothing has no place among needs");
  for (const literal of needs.literals) if (!numbers.has(literal)) numbers.set(literal, numbers.size);
  return { kind: "literals", numbers: needs.literals.map((literal) => numbers.get(literal) ?? 0) };
}

/** At some size. Most contents have no literal of any rule, and these few needs are all there is to look at. */
function mayHoldWithoutLiterals(needs: NumberedNeeds): boolean {
  if (needs.kind === "literals") return false;
  return needs.kind === "size" || needs.of.filter(mayHoldWithoutLiterals).length >= needs.count;
}

function holds(needs: NumberedNeeds, seen: Uint8Array, size: number): boolean {
  if (needs.kind === "literals") return needs.numbers.some((number) => seen[number] === 1);
  if (needs.kind === "size") return needs.least <= size && size <= needs.most;
  let left = needs.count;
  for (const one of needs.of) {
    if (holds(one, seen, size)) left -= 1;
    if (left === 0) return true;
  }
  return false;
}

const GRAM = SHORTEST;
/** Further apart the search is not made faster by it: two groups are looked at together. */
const LONGEST_STEP = 2;
/** As many as fit into the nearest cache, a bit for each hash. */
const HASH_BITS = 18;
/** Lists are found by fewer of them. */
const LIST_BITS = 16;

/** Which of the literals are in a content, until the next question; nothing, if it would take too long to find out. */
type LiteralSearch = (content: Uint8Array) => Uint8Array | undefined;

/**
 * Looks at three bytes in every two, or at each place if the shortest literal has no more: where a literal is, one of its groups
 * of three stands at such a place. Most groups belong to no literal, and the others are compared. A content that was made to look like
 * literals all the time is given up, so that the time is bounded by its length.
 */
function literalSearch(literals: readonly string[], simd: boolean): LiteralSearch {
  const seen = new Uint8Array(literals.length);
  const step = Math.min(LONGEST_STEP, Math.min(...literals.map(({ length }) => length)) - GRAM + 1);
  const bytes = literals.map((literal) => Uint8Array.from(literal, (character) => character.charCodeAt(0)));

  /** By the hash of a group: one bit whether any literal has it, and which have. */
  const known = new Int32Array(2 ** HASH_BITS / 32);
  const lists = new Map<number, number[]>();
  for (const [literal, text] of bytes.entries()) {
    const start = rarestStart(text, step);
    for (let offset = start; offset < start + step; offset += 1) {
      const hash = hashOf(text[offset] ?? 0, text[offset + 1] ?? 0, text[offset + 2] ?? 0);
      known[hash >>> 5] = (known[hash >>> 5] ?? 0) | (1 << (hash & 31));
      const list = lists.get(listOf(hash)) ?? [];
      list.push(literal, offset);
      lists.set(listOf(hash), list);
    }
  }
  const listAt = new Int32Array(2 ** LIST_BITS);
  const entries: number[] = [];
  for (const [number, list] of lists) {
    listAt[number] = entries.length;
    for (const entry of list) entries.push(entry);
    entries.push(END);
  }
  const listed = Int32Array.from(entries);

  /** How many comparisons are left. */
  let patience = 0;

  function lookAt(content: Uint8Array, place: number): void {
    const hash = hashOf(content[place] ?? 0, content[place + 1] ?? 0, content[place + 2] ?? 0);
    if ((((known[hash >>> 5] ?? 0) >>> (hash & 31)) & 1) === 0) return;
    for (let at = listAt[listOf(hash)] ?? 0; ; at += 2) {
      const literal = listed[at] ?? END;
      if (literal === END) return;
      patience -= 1;
      if (seen[literal] === 0 && isAt(content, place - (listed[at + 1] ?? 0), bytes[literal] ?? NOTHING))
        seen[literal] = 1;
    }
  }

  /** Every other place, two at a time, from the first address on where four bytes can be read; says which is next. */
  function lookInFours(content: Uint8Array): number {
    const start = (4 - (content.byteOffset % 4)) % 4;
    const count = (content.length - start) >> 2;
    for (let place = start % 2; place < Math.min(start, content.length - GRAM + 1); place += 2) lookAt(content, place);
    if (count < 2) return start;
    const fours = new Int32Array(content.buffer, content.byteOffset + start, count);
    const bits = known;
    let four = fours[0] as number;
    for (let index = 1; index < count; index += 1) {
      const next = fours[index] as number;
      const first = hashOfThree(four);
      const second = hashOfThree((four >>> 16) | (next << 16));
      four = next;
      const any = ((bits[first >>> 5] as number) >>> (first & 31)) | ((bits[second >>> 5] as number) >>> (second & 31));
      if ((any & 1) === 0) continue;
      lookAt(content, start + 4 * index - 4);
      lookAt(content, start + 4 * index - 2);
      if (patience < 0) break;
    }
    return start + 4 * (count - 1);
  }

  const scan = step === 2 && LOW_BYTE_FIRST && simd ? groupScan(known, HASH) : undefined;

  function lookByScan(content: Uint8Array, ofPlaces: GroupScan): void {
    const end = content.length - GRAM;
    ofPlaces(content, (first) => {
      for (let place = first; place < first + BYTES_AT_ONCE && place <= end; place += 2) lookAt(content, place);
      return patience >= 0;
    });
  }

  function lookPlainly(content: Uint8Array): void {
    const end = content.length - GRAM;
    let place = step === 2 && LOW_BYTE_FIRST ? lookInFours(content) : 0;
    for (; place <= end && patience >= 0; place += step) lookAt(content, place);
  }

  return (content) => {
    seen.fill(0);
    patience = LEAST_PATIENCE + (content.length >>> 3);
    if (scan) lookByScan(content, scan);
    else lookPlainly(content);
    return patience < 0 ? undefined : seen;
  };
}

const END = -1;
const NOTHING = new Uint8Array();
/** So many comparisons are always allowed, and one for every eighth byte. */
const LEAST_PATIENCE = 100;

/** Blind to more than case, which does no harm here. */
function hashOf(first: number, second: number, third: number): number {
  return hashOfThree(first | (second << 8) | (third << 16));
}

/** Of the three lowest bytes. */
function hashOfThree(bytes: number): number {
  return Math.imul((bytes & 0xffffff) | HASH.alwaysSet, HASH.factor) >>> (32 - HASH_BITS);
}

const HASH = { alwaysSet: 0x202020, factor: 0x9e3779b1, bits: HASH_BITS };

function listOf(hash: number): number {
  return hash >>> (HASH_BITS - LIST_BITS);
}

const LOW_BYTE_FIRST = new Uint16Array(Uint8Array.of(1, 0).buffer)[0] === 1;

const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => folded(String.fromCharCode(byte)).charCodeAt(0));

function isAt(content: Uint8Array, start: number, literal: Uint8Array): boolean {
  if (start < 0 || start + literal.length > content.length) return false;
  for (let index = 0; index < literal.length; index += 1) {
    if (FOLDED[content[start + index] ?? 0] !== literal[index]) return false;
  }
  return true;
}

/** Where in a literal so many groups of three begin that are not met often. */
function rarestStart(literal: Uint8Array, groups: number): number {
  let [best, bestCost] = [0, Number.POSITIVE_INFINITY];
  for (let start = 0; start + groups + GRAM - 1 <= literal.length; start += 1) {
    let cost = 0;
    for (let at = start; at < start + groups; at += 1) {
      cost += oftenOf(literal[at]) * oftenOf(literal[at + 1]) * oftenOf(literal[at + 2]);
    }
    if (cost < bestCost) [best, bestCost] = [start, cost];
  }
  return best;
}

/** How often a byte is met, roughly: zeros in programs, then letters in texts. */
function oftenOf(byte = 0): number {
  if (byte === 0) return 40;
  const rank = COMMON.indexOf(String.fromCharCode(byte));
  return rank < 0 ? 1 : COMMON.length - rank + 1;
}

const COMMON = " etaoinsrhldcumfpgwybvkxjqz";
