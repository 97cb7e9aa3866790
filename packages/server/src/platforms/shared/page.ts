import type { Page } from "../../queue/job-queue.ts";

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
