import { hostname, userInfo } from "node:os";
import { Command } from "commander";
import type { AuditEntry, AuditLog } from "../access/audit-log.ts";
import { DATA_DIR, localStore } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { moment, wholeNumber } from "./flag-values.ts";
import { out, say, table } from "./terminal/output.ts";

interface Flags {
  dataDir?: string;
  since: number;
  until?: number;
  limit?: number;
  json?: boolean;
}

const PAGE = 200;
/** Lines on a terminal, where no other number is asked for. */
const SHOWN = 50;

export function auditCommand(): Command {
  const command = new Command("audit")
    .description(
      "who did what: keys, tenants, dead letters, signing keys, files that were read again, starts of the service",
    )
    .option(...DATA_DIR)
    .option("--since <time>", "from then on: 7d, 12h or a date", (text) => moment(text), 0)
    .option("--until <time>", "until before then", (text) => moment(text))
    .option("--limit <number>", `at most so many; ${SHOWN} without --json`, wholeNumber)
    .option("--json", "a JSON line for each, all of them")
    .action(show);
  return withExamples(
    command,
    [
      ["audit", "the last ones"],
      ["audit --since 7d", ""],
      ["audit --since 2026-11-01 --until 2026-12-01 --json > november.jsonl", "to keep it elsewhere"],
    ],
    [
      "Newest first. Entries are kept for 400 days, and are written before the action is taken: one that was cut off has its entry too.",
    ],
  );
}

async function show(flags: Flags): Promise<void> {
  await using store = await localStore(flags);
  const { since, until, limit = flags.json ? Number.MAX_SAFE_INTEGER : SHOWN } = flags;
  const rows: AuditEntry[] = [];
  let after: string | undefined;
  let left = limit;
  do {
    const span = { since, ...(until !== undefined && { until }), ...(after !== undefined && { after }) };
    const page = await store.audit.list({ ...span, limit: Math.min(left, PAGE) });
    for (const entry of page?.entries ?? []) {
      if (flags.json) out(`${JSON.stringify({ ...entry, at: new Date(entry.at).toISOString() })}\n`);
      else rows.push(entry);
    }
    left -= page?.entries.length ?? 0;
    after = page?.next;
  } while (after !== undefined && left > 0);
  if (flags.json) return;
  out(table(["AT", "WHO", "FROM", "WHAT", "ON", "DETAILS"], rows.map(row)));
  if (after !== undefined) say(`hint: there are more, --limit ${limit * 10} shows them\n`);
}

function row({ at, who, tenant, from, what, on, details = {} }: AuditEntry): string[] {
  const facts = Object.entries(details).map(([name, value]) => `${name}=${value}`);
  const time = new Date(at).toISOString().replace(/\.\d+/, "");
  return [time, tenant === "" ? who : `${tenant}/${who}`, from, what, on, facts.join(" ")];
}

/** Writes down what is about to be done from the command line. When this cannot be written, it must not be done. */
export async function record(audit: AuditLog, act: Pick<AuditEntry, "what" | "on" | "details">): Promise<void> {
  await audit.add({ at: Date.now(), who: `operator ${userName()}`, tenant: "", from: hostname(), ...act });
}

/** With a number where the system has no name for it, as in many containers. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
