import type { Page } from "../../queue/job-queue.ts";
import { MOST_READ } from "./retention.ts";

interface PageParts<Row, Entry> {
  limit: number;
  entryOf(row: Row): Entry;
  placeOf(row: Row): string;
}

/** One page of rows that were asked for with one more than the limit, which says whether there is a next page. */
export function pageOf<Row, Entry>(
  rows: readonly Row[],
  { limit, entryOf, placeOf }: PageParts<Row, Entry>,
): Page<Entry> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { entries: shown.map(entryOf), next: last !== undefined && rows.length > limit ? placeOf(last) : undefined };
}

/** The number that stands for a place in a list; undefined when it is none of ours. */
export function placeIn(text: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

interface WantedParts<Row, Entry> extends Pick<PageParts<Row, Entry>, "limit" | "placeOf"> {
  /** So many rows are opened at most. */
  mostRead?: number | undefined;
  /** The next rows after a place, at most so many; fewer when there are no more. */
  read(after: string | undefined, count: number): Promise<readonly Row[]>;
  /** Undefined when it cannot be read. */
  open(row: Row): Entry | undefined;
  isWanted(entry: Entry): boolean;
}

/** Few enough to hold, however large each is. */
const READ_AT_ONCE = 500;

const JOB_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Lists in the order of job ids go on behind one; what is none is no place of ours. */
export function isJobPlace(text: string): boolean {
  return JOB_ID.test(text);
}

/**
 * One page of the rows that are wanted, which only shows when they are opened. It ends early when too many are not: then it says where to
 * go on, though it may be short or empty.
 */
export async function wantedPage<Row, Entry>(parts: WantedParts<Row, Entry>, after?: string): Promise<Page<Entry>> {
  const { limit, mostRead = MOST_READ, read, open, isWanted, placeOf } = parts;
  const entries: Entry[] = [];
  let place = after;
  for (let opened = 0; ; ) {
    // Most often all are wanted, and then these are enough.
    const count = Math.min(opened === 0 ? limit : READ_AT_ONCE, mostRead - opened);
    // One more says whether there is a next page.
    const rows = await read(place, count + 1);
    for (const row of rows.slice(0, count)) {
      if (entries.length === limit) return { entries, next: place };
      const entry = open(row);
      if (entry !== undefined && isWanted(entry)) entries.push(entry);
      place = placeOf(row);
    }
    opened += count;
    if (rows.length <= count) return { entries, next: undefined };
    if (opened >= mostRead || entries.length === limit) return { entries, next: place };
  }
}
