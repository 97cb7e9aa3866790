import type { AdminFinding, AdminFindingGroup, AdminPage } from "@lazaret/contract/admin";
import type { Findings, FindingsQuery } from "../deliver/findings.ts";
import type { Answer } from "../receive/request-answer.ts";
import { choiceIn, invalidCursor, limitIn, present, storeCursorIn, textIn, timeIn } from "./asked.ts";
import { exported, sourceColumns, timeCell } from "./export.ts";
import { shownFinding } from "./shown.ts";

/** What findings are grouped of. */
const MOST_GROUPED = 10_000;
const AT_ONCE = 200;
/** What one page counts for that is not full. */
const COST_OF_SHORT = 1000;
/** Reads of the store for one page: what fits may be rare. */
const MOST_READS = 10;

type Filter = Omit<FindingsQuery, "limit" | "after"> & {
  finding?: string;
  bucket?: string;
  source?: AdminFinding["source"]["kind"];
  key?: string;
};

function filterIn(query: URLSearchParams): Filter {
  return present({
    verdict: choiceIn(query, "verdict", ["infected", "no"]),
    finding: textIn(query, "finding"),
    bucket: textIn(query, "bucket"),
    source: choiceIn(query, "source", ["url", "object", "upload"]),
    key: textIn(query, "key"),
    tenant: textIn(query, "tenant"),
    since: timeIn(query, "since"),
    until: timeIn(query, "until"),
    text: textIn(query, "q"),
  });
}

export function listFindings(
  findings: Findings,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<AdminPage<AdminFinding>> {
  return readFindings(findings, filterIn(query), { limit: limitIn(query), after: storeCursorIn(query), signal });
}

/** Ends with a page of the store, so that its place is one to go on from. */
async function readFindings(
  findings: Findings,
  filter: Filter,
  { limit, after, signal }: { limit: number; after: string | undefined; signal?: AbortSignal },
): Promise<AdminPage<AdminFinding>> {
  const { finding, bucket, source: _, key: __, ...rest } = filter;
  // What the store can search for need not be read: the name of a finding or bucket is part of what it searches.
  const ofStore = { ...rest, ...present({ text: rest.text ?? finding ?? bucket }) };
  const entries: AdminFinding[] = [];
  let next = after;
  for (let reads = 0; reads < MOST_READS && entries.length < limit && !signal?.aborted; reads += 1) {
    const page = await findings.list({ ...ofStore, limit: limit - entries.length, ...present({ after: next }) });
    if (!page) throw invalidCursor();
    entries.push(...page.entries.map(shownFinding).filter((each) => fits(each, filter)));
    next = page.next;
    if (next === undefined) break;
  }
  return { entries, ...present({ next }) };
}

function fits(each: AdminFinding, { finding, bucket, source, key }: Filter): boolean {
  if (finding !== undefined && each.finding !== finding) return false;
  if (source !== undefined && each.source.kind !== source) return false;
  if (key !== undefined && each.key !== key) return false;
  return bucket === undefined || (each.source.kind === "object" && each.source.bucket === bucket);
}

/** Most of them first. Ends with the signal, as it takes a while where little fits. */
export async function groupFindings(
  findings: Findings,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<AdminPage<AdminFindingGroup>> {
  const by = choiceIn(query, "by", ["finding", "bucket", "day"]) ?? "finding";
  const filter = filterIn(query);
  const groups = new Map<string, AdminFindingGroup>();
  let after: string | undefined;
  let left = MOST_GROUPED;
  do {
    const page = await readFindings(findings, filter, { limit: AT_ONCE, after, signal });
    for (const finding of page.entries) addTo(groups, nameIn(by, finding), finding);
    // A page that is not full has had many reads: what did not fit counts, too.
    left -= page.entries.length < AT_ONCE ? COST_OF_SHORT : AT_ONCE;
    after = page.next;
  } while (after !== undefined && left > 0 && !signal.aborted);
  const entries = [...groups.values()].sort((one, other) => other.count - one.count || other.last_at - one.last_at);
  return { entries };
}

function nameIn(by: "finding" | "bucket" | "day", { finding, source, at }: AdminFinding): string {
  if (by === "finding") return finding;
  if (by === "day") return new Date(at).toISOString().slice(0, 10);
  return source.kind === "object" ? source.bucket : "";
}

function addTo(groups: Map<string, AdminFindingGroup>, name: string, { verdict, at }: AdminFinding): void {
  const group = groups.get(name) ?? { name, count: 0, infected: 0, first_at: at, last_at: at };
  group.count += 1;
  if (verdict === "infected") group.infected += 1;
  group.first_at = Math.min(group.first_at, at);
  group.last_at = Math.max(group.last_at, at);
  groups.set(name, group);
}

export function exportFindings(findings: Findings, query: URLSearchParams): Answer {
  const filter = filterIn(query);
  return exported<AdminFinding>(query, {
    name: "findings",
    read: (after) => readFindings(findings, filter, { limit: AT_ONCE, after }),
    columns: {
      time: ({ at }) => timeCell(at),
      verdict: ({ verdict }) => verdict,
      finding: ({ finding }) => finding,
      detail: ({ detail }) => detail,
      member: ({ member }) => member,
      ...sourceColumns,
      size: ({ size }) => size,
      type: ({ type }) => type,
      sha256: ({ sha256 }) => sha256,
      tenant: ({ tenant }) => tenant,
      key: ({ key }) => key,
      trace_id: ({ trace_id }) => trace_id,
      request_id: ({ request_id }) => request_id,
      job_id: ({ job_id }) => job_id,
      action: ({ action }) => action,
    },
  });
}
