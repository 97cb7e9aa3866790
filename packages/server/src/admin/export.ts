import type { AdminSource } from "@lazaret/contract/admin";
import type { Answer } from "../receive/request-answer.ts";
import { choiceIn } from "./asked.ts";
import { csvLine } from "./csv.ts";
import { placeOf } from "./shown.ts";

/** So many entries are in one file; who wants more asks for another time span. */
const MOST_ENTRIES = 10_000;

export interface ExportParts<Entry> {
  /** Of the file, without its ending. */
  name: string;
  /** Pages until there is no `next`. */
  read(after: string | undefined): Promise<{ entries: readonly Entry[]; next?: string }>;
  columns: Readonly<Record<string, (entry: Entry) => string | number | boolean | undefined>>;
}

/** As lines of JSON or as CSV, page after page, so that no more than one is in memory. */
export function exported<Entry>(query: URLSearchParams, parts: ExportParts<Entry>): Answer {
  const format = choiceIn(query, "format", ["ndjson", "csv"]) ?? "ndjson";
  const type = format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson";
  return {
    status: 200,
    headers: { "Content-Type": type, "Content-Disposition": `attachment; filename="${parts.name}.${format}"` },
    stream: { bytes: encoded(format === "csv" ? csvChunks(parts) : jsonChunks(parts)) },
  };
}

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield Buffer.from(text);
}

async function* jsonChunks<Entry>(parts: ExportParts<Entry>): AsyncGenerator<string> {
  for await (const entries of pages(parts)) yield entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

async function* csvChunks<Entry>(parts: ExportParts<Entry>): AsyncGenerator<string> {
  const columns = Object.entries(parts.columns);
  yield csvLine(columns.map(([name]) => name));
  for await (const entries of pages(parts)) {
    yield entries.map((entry) => csvLine(columns.map(([, value]) => value(entry)))).join("");
  }
}

async function* pages<Entry>({ read }: ExportParts<Entry>): AsyncGenerator<readonly Entry[]> {
  let left = MOST_ENTRIES;
  let after: string | undefined;
  do {
    const page = await read(after);
    // Empty ones too: a client that has hung up is noticed between pages.
    yield page.entries.slice(0, left);
    left -= page.entries.length;
    after = page.next;
  } while (after !== undefined && left > 0);
}

/** Times as spreadsheets read them. */
export function timeCell(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}

/** The columns of a source. */
export const sourceColumns = {
  source: ({ source }: { source?: AdminSource }) => source?.kind,
  place: ({ source }: { source?: AdminSource }) => source && placeOf(source),
  version: ({ source }: { source?: AdminSource }) => (source?.kind === "object" ? source.version : undefined),
};
