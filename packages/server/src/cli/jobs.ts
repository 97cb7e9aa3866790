import { Command, Option } from "commander";
import type { JobCard } from "../model/job-card.ts";
import type { JobBrowser, JobEntry, JobState } from "../queue/job-queue.ts";
import { addListFlags, compactLocal, DATA_DIR, found, type ListFlags, localStore, printList } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { tenantName } from "./flag-values.ts";
import { pageOfTenant, TENANT_FLAG } from "./of-tenant.ts";
import { ago, inBytes, print } from "./terminal/output.ts";

interface JobListFlags extends ListFlags {
  state?: JobState;
  tenant?: string;
}

export function jobsCommand(): Command {
  const command = new Command("jobs").description(
    "look at the jobs of the local data folder, of PostgreSQL or of AWS, and make a local database small",
  );
  const list = command
    .command("list")
    .description("jobs that are not done, newest first")
    .option(...DATA_DIR)
    .addOption(new Option("--state <state>", "of one state only").choices(["ready", "delayed", "leased", "buried"]))
    .option(...TENANT_FLAG, tenantName);
  addListFlags(list).action(({ state, tenant, ...flags }: JobListFlags) =>
    printList(flags, {
      command: `lazaret jobs list${state ? ` --state ${state}` : ""}${tenant ? ` --tenant ${tenant}` : ""}`,
      read({ browser }, page) {
        const read: JobBrowser["list"] = (each) => browser.list({ ...each, ...(state && { state }) });
        return tenant === undefined ? read(page) : pageOfTenant(read, tenant, page);
      },
      headings: ["ID", "STATE", "AGE", "ATTEMPTS", "TRACE ID", "SOURCE"],
      row,
    }),
  );
  command
    .command("show")
    .argument("<id>", "as lazaret jobs list shows it")
    .description("one job, without its secrets")
    .option(...DATA_DIR)
    .action(async (id: string, flags: { dataDir?: string }) => {
      await using store = await localStore(flags);
      print(found(await store.browser.show(id), `job ${id}`, "lazaret jobs list"));
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
    ["jobs list --state delayed", "those that wait for another try"],
    ["jobs list --tenant shop", "those of one tenant"],
    ["jobs show 0198a7c4-…", "one of them"],
    ["jobs list --json --data-dir /var/lib/lazaret", ""],
    ["jobs compact", "when lazaret doctor says that much of the database is free"],
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
