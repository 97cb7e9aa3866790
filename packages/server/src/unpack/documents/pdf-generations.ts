import { type Blob, piecesOf } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { chainsOf, decodeFilter } from "./pdf-filters.ts";
import type { Entries } from "./pdf-objects.ts";

/** A stream that is a table of objects. */
export interface TableStream {
  start: number;
  end: number;
  entries: Entries;
}

const WINDOW_BYTES = 1024 * 1024;
const LINE_BYTES = 64;
const GENERATIONS_AT_MOST = 16;
const ROW = /[\r\n][ \t]*\d{1,19}[ \t]+0*([1-9]\d{0,4})[ \t]+n/g;

/**
 * The generations that tables give to objects, besides zero. Some readers decrypt an object by that and not by what is written
 * before it. Undefined, if there are too many to try them all.
 */
export function generationsIn(
  content: Blob,
  tables: readonly TableStream[],
  budget: Budget,
): readonly number[] | undefined {
  const found = new Set<number>();
  const add = (generation: number): boolean => {
    if (generation !== 0) found.add(generation);
    return found.size <= GENERATIONS_AT_MOST;
  };
  for (const { bytes } of piecesOf(content, WINDOW_BYTES, LINE_BYTES)) {
    budget.addWork(bytes.length);
    for (const [, written] of bytes.toString("latin1").matchAll(ROW)) if (!add(Number(written))) return undefined;
  }
  for (const table of tables) {
    for (const generation of generationsOf(content, table, budget)) if (!add(generation)) return undefined;
  }
  return [...found];
}

/** Each row has a kind, a place and a generation, in as many bytes as `/W` says. Kind 1 are objects of their own. */
function* generationsOf(content: Blob, { start, end, entries }: TableStream, budget: Budget): Generator<number> {
  const limit = budget.limits.memberInMemoryBytes;
  for (const widths of entries.get("W") ?? []) {
    const sizes = widths.kind === "list" ? widths.items.map((item) => (item.kind === "number" ? item.value : 0)) : [];
    const [kind = 0, place = 0, generation = 0] = sizes;
    const row = kind + place + generation;
    if (sizes.some((size) => !Number.isInteger(size) || size < 0 || size > 8) || row === 0) continue;
    for (const chain of chainsOf(new Map(), entries) ?? []) {
      let rows = content.bytes(start, Math.min(limit, end - start));
      for (const filter of chain) {
        budget.addWork(rows.length);
        rows = decodeFilter(rows, filter, { limit, charge: budget.addWork })?.bytes ?? Buffer.alloc(0);
      }
      budget.addWork(rows.length);
      for (let at = 0; at + row <= rows.length; at += row) {
        const isObject = kind === 0 || rows[at + kind - 1] === 1;
        // The lowest two bytes are what goes into a key.
        if (!isObject || generation === 0) continue;
        const last = at + row - 1;
        yield (rows[last] ?? 0) + (generation > 1 ? (rows[last - 1] ?? 0) * 256 : 0);
      }
    }
  }
}
