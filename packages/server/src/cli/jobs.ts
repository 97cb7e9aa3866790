import { Command, Option } from "commander";
import type { JobCard } from "../model/job-card.ts";
import { statusOf } from "../model/verdict.ts";
import type { HistoryQuery } from "../queue/job-history.ts";
import type { JobBrowser, JobEntry, JobState } from "../queue/job-queue.ts";
import { addListFlags, compactLocal, DATA_DIR, found, type ListFlags, localStore, printList } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { wrongUsage } from "./exit-codes.ts";
import { moment, tenantName } from "./flag-values.ts";
import { pageOfTenant, TENANT_FLAG } from "./of-tenant.ts";
import { findJob, jobInWords } from "./show-job.ts";
import { ago, inBytes, print } from "./terminal/output.ts";

interface JobListFlags extends ListFlags, Pick<HistoryQuery, "verdict" | "since" | "until"> {
  state?: JobState | "done";
  tenant?: string;
  search?: string;
}

interface ShowFlags {
  dataDir?: string;
  tenant?: string;
  json?: boolean;
}

export function jobsCommand(): Command {
  const command = new Command("jobs").description(
    "look at the jobs in the local data folder, PostgreSQL or AWS, and compact a local database",
  );
  const list = command
    .command("list")
    .description("jobs that are not done, or those that are, newest first")
    .option(...DATA_DIR)
    .addOption(
      new Option("--state <state>", "of one state only").choices(["ready", "delayed", "leased", "buried", "done"]),
    )
    .option(...TENANT_FLAG, tenantName)
    .addOption(new Option("--verdict <verdict>", "with --state done").choices(["clean", "infected", "no"]))
    .option("--since <time>", "with --state done: submitted from then on, 1d, 12h or a date", (text) => moment(text))
    .option("--until <time>", "with --state done: until before then", (text) => moment(text))
    .option("--search <text>", "with --state done: in trace id, bucket/key or link");
  addListFlags(list).action((flags: JobListFlags) => (flags.state === "done" ? listDone(flags) : listOthers(flags)));
  command
    .command("show")
    .argument("<id>", "as lazaret jobs list shows it, or a trace id")
    .description("one job and what happened to it, without its secrets, also when it is done")
    .option(...DATA_DIR)
    .option("--tenant <name>", "whose trace id it is", tenantName)
    .option("--json", "as JSON")
    .action(async (id: string, { tenant, json, ...flags }: ShowFlags) => {
      await using store = await localStore(flags);
      const job = found(await findJob(store, id, tenant), `job ${id}`, "lazaret jobs list");
      print(json ? job : jobInWords(job));
    });
  command
    .command("compact")
    .description("rewrite the database to its smallest size, with the server stopped; jobs stay as they are")
    .option(...DATA_DIR)
    .action(async (flags: { dataDir?: string }) => {
      const { before, after } = await compactLocal(flags);
      print(`${inBytes(before)} before, ${inBytes(after)} now\n`);
    });
  return withExamples(command, [
    ["jobs list --state delayed", "those that wait for another attempt"],
    ["jobs list --tenant shop", "those of one tenant"],
    ["jobs list --state done --verdict infected --since 1d", "what was found since yesterday"],
    ["jobs show 0198a7c4-…", "one of them, with everything that happened to it"],
    ["jobs show order-4711", "the same by the client's trace id"],
    ["jobs list --json --data-dir /var/lib/lazaret", ""],
    ["jobs compact", "when lazaret doctor says that much of the database is free"],
  ]);
}

function listOthers({ state, tenant, verdict, since, until, search, ...flags }: JobListFlags): Promise<void> {
  if ([verdict, since, until, search].some((filter) => filter !== undefined)) {
    throw wrongUsage(
      "--verdict, --since, --until and --search are for jobs that are done",
      "add --state done, or use lazaret findings for all that was not clean",
    );
  }
  const waiting = state === "done" ? undefined : state;
  return printList(flags, {
    command: `lazaret jobs list${state ? ` --state ${state}` : ""}${tenant ? ` --tenant ${tenant}` : ""}`,
    read({ browser }, page) {
      const read: JobBrowser["list"] = (each) => browser.list({ ...each, ...(waiting && { state: waiting }) });
      return tenant === undefined ? read(page) : pageOfTenant(read, tenant, page);
    },
    headings: ["ID", "STATE", "AGE", "ATTEMPTS", "TRACE ID", "SOURCE"],
    row,
  });
}

function listDone({ tenant, verdict, since, until, search: text, ...flags }: JobListFlags): Promise<void> {
  const wanted = {
    ...(tenant !== undefined && { tenant }),
    ...(verdict !== undefined && { verdict }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(text !== undefined && { text }),
  };
  return printList(flags, {
    command: "lazaret jobs list --state done, with the same filters, and",
    async read({ history }, page) {
      const read = await history.list({ ...page, ...wanted });
      if (read) return read;
      throw wrongUsage(`--after ${page.after} is not a place in this list`, "use what the previous page printed");
    },
    headings: ["ID", "VERDICT", "AGE", "ATTEMPTS", "TRACE ID", "SOURCE"],
    row: ({ id, submittedAt, attempts, job }, now) => [
      id,
      job.report ? statusOf(job.report.verdict) : "-",
      ago(submittedAt, now),
      String(attempts),
      job.traceId ?? "-",
      placeOf(job.source),
    ],
  });
}

function row(entry: JobEntry, now: number): string[] {
  const { job } = entry;
  return [
    entry.id,
    entry.state,
    ago(entry.submittedAt, now),
    String(entry.attempts),
    job?.traceId ?? "-",
    job ? placeOf(job.source) : "(unreadable)",
  ];
}

function placeOf(source: JobCard["source"]): string {
  return source.kind === "url" ? source.url : `${source.bucket}/${source.key}`;
}
