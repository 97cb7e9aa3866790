import { Command, Option } from "commander";
import type { JobCard } from "../model/job-card.ts";
import type { JobEntry, JobState } from "../queue/job-queue.ts";
import { withExamples } from "./examples.ts";
import { found, localStore, pageLimit } from "./reach/local-store.ts";
import { print, say } from "./terminal/output.ts";
import { ago, table } from "./terminal/table.ts";

interface Flags {
  dataDir?: string;
  json?: boolean;
  limit: number;
  state?: JobState;
  after?: string;
}

export function jobsCommand(): Command {
  const command = new Command("jobs").description("look at the jobs of the local data folder");
  command
    .command("list")
    .description("jobs that are not done, newest first")
    .option("--data-dir <path>", "the server's data folder")
    .addOption(new Option("--state <state>", "of one state only").choices(["ready", "delayed", "leased", "buried"]))
    .option("--limit <number>", "at most so many", pageLimit, 50)
    .option("--after <cursor>", "go on where the page before ended")
    .option("--json", "as JSON")
    .action(async (flags: Flags) => {
      await using store = await localStore({ dataDir: flags.dataDir });
      const { entries, next } = await store.browser.list({
        limit: flags.limit,
        ...(flags.state && { state: flags.state }),
        ...(flags.after && { after: flags.after }),
      });
      if (flags.json) return print({ entries, next });
      const now = Date.now();
      const rows = entries.map((entry) => row(entry, now));
      print(table(["ID", "STATE", "AGE", "ATTEMPTS", "TRACE ID", "SOURCE"], rows));
      if (next) say(`more: lazaret jobs list --after ${next}\n`);
    });
  command
    .command("show")
    .argument("<id>", "as lazaret jobs list shows it")
    .description("one job, without its secrets")
    .option("--data-dir <path>", "the server's data folder")
    .action(async (id: string, flags: Flags) => {
      await using store = await localStore({ dataDir: flags.dataDir });
      print(found(await store.browser.show(id), `job ${id}`, "lazaret jobs list"));
    });
  return withExamples(command, [
    ["jobs list --state delayed", "those that wait for another try"],
    ["jobs show 0198a7c4-…", "one of them"],
    ["jobs list --json --data-dir /var/lib/lazaret", ""],
  ]);
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
