import { Command, Option } from "commander";
import type { Finding, FindingsQuery } from "../deliver/findings.ts";
import { DATA_DIR, localStore } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { moment, tenantName, wholeNumber } from "./flag-values.ts";
import { TENANT_FLAG } from "./of-tenant.ts";
import { inBytes, out, say, table } from "./terminal/output.ts";

interface Flags extends Pick<FindingsQuery, "since" | "until" | "verdict" | "tenant"> {
  dataDir?: string;
  search?: string;
  limit?: number;
  json?: boolean;
}

const PAGE = 200;
/** Lines on a terminal, where no other number is asked for. */
const SHOWN = 50;

export function findingsCommand(): Command {
  const command = new Command("findings")
    .description("files that were infected or could not be scanned, however they came in")
    .option(...DATA_DIR)
    .option("--since <time>", "from then on: 1d, 12h or a date", (text) => moment(text))
    .option("--until <time>", "until before then", (text) => moment(text))
    .addOption(new Option("--verdict <verdict>", "of one verdict only").choices(["infected", "no"]))
    .option("--search <text>", "that contain it in finding, name, bucket/key, link, trace id or SHA-256")
    .option(...TENANT_FLAG, tenantName)
    .option("--limit <number>", `at most so many; ${SHOWN} without --json`, wholeNumber)
    .option("--json", "a JSON line for each, all of them")
    .action(show);
  return withExamples(
    command,
    [
      ["findings --since 1d", "what was found since yesterday"],
      ["findings --search order-4711", "by a trace id"],
      ["findings --verdict infected --tenant shop", ""],
      ["findings --since 2026-11-01 --until 2026-12-01 --json > november.jsonl", "to keep it elsewhere"],
    ],
    [
      "Newest first. Kept for LAZARET_FINDINGS_DAYS, and no more than LAZARET_FINDINGS_MOST; files themselves are never kept.",
    ],
  );
}

async function show(flags: Flags): Promise<void> {
  await using store = await localStore(flags);
  const { since, until, verdict, tenant, search: text, json } = flags;
  const { limit = json ? Number.MAX_SAFE_INTEGER : SHOWN } = flags;
  const wanted = {
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(verdict !== undefined && { verdict }),
    ...(tenant !== undefined && { tenant }),
    ...(text !== undefined && { text }),
  };
  const rows: Finding[] = [];
  let after: string | undefined;
  let left = limit;
  do {
    const page = await store.findings.list({
      ...wanted,
      limit: Math.min(left, PAGE),
      ...(after !== undefined && { after }),
    });
    for (const entry of page?.entries ?? []) {
      if (json) out(`${JSON.stringify({ ...entry, at: new Date(entry.at).toISOString() })}\n`);
      else rows.push(entry);
    }
    left -= page?.entries.length ?? 0;
    after = page?.next;
  } while (after !== undefined && left > 0);
  if (json) return;
  out(table(["AT", "VERDICT", "FINDING", "SIZE", "WHOSE", "TRACE OR REQUEST ID", "DONE", "WHERE"], rows.map(row)));
  if (after !== undefined) say(`hint: there are more, --limit ${limit * 10} shows them\n`);
}

function row({ at, verdict, finding, member, sizeBytes, tenant, key, action, source, ...ids }: Finding): string[] {
  const time = new Date(at).toISOString().replace(/\.\d+/, "");
  const whose = key === "" ? tenant : `${tenant}/${key}`;
  const place = placeOf(source);
  const inside = member === undefined ? place : `${place} (${member})`;
  return [
    time,
    verdict,
    finding,
    inBytes(sizeBytes),
    whose,
    ids.traceId ?? ids.requestId ?? "-",
    action ?? "-",
    inside,
  ];
}

function placeOf(source: Finding["source"]): string {
  if (source.kind === "upload") return source.name ?? "(upload)";
  return source.kind === "url" ? source.url : `${source.bucket}/${source.key}`;
}
