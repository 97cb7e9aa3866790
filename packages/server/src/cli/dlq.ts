import { Command } from "commander";
import { DATA_DIR, found, localStore } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { wrongUsage } from "./exit-codes.ts";
import { pageLimit } from "./flag-values.ts";
import { ago, print, say, table } from "./terminal/output.ts";

interface Flags {
  dataDir?: string;
  json?: boolean;
  limit: number;
  after?: string;
  all?: boolean;
}

export function dlqCommand(): Command {
  const command = new Command("dlq").description(
    "look at the dead letters of the local data folder or of AWS, and put them back",
  );
  command
    .command("list")
    .description("dead letters, newest first")
    .option(...DATA_DIR)
    .option("--limit <number>", "at most so many", pageLimit, 50)
    .option("--after <cursor>", "go on where the page before ended")
    .option("--json", "as JSON")
    .action(async (flags: Flags) => {
      await using store = await localStore({ dataDir: flags.dataDir });
      const { entries, next } = await store.deadLetters.list({
        limit: flags.limit,
        ...(flags.after && { after: flags.after }),
      });
      if (flags.json) return print({ entries, next });
      const now = Date.now();
      const rows = entries.map(({ id, buriedAt, reason, job }) => [
        id,
        ago(buriedAt, now),
        job?.traceId ?? "-",
        job?.callback?.url ?? "-",
        reason,
      ]);
      print(table(["ID", "BURIED", "TRACE ID", "CALLBACK", "REASON"], rows));
      if (next) say(`more: lazaret dlq list --after ${next}\n`);
    });
  command
    .command("show")
    .argument("<id>", "as lazaret dlq list shows it")
    .description("one dead letter, without its secrets")
    .option(...DATA_DIR)
    .action(async (id: string, flags: Flags) => {
      await using store = await localStore({ dataDir: flags.dataDir });
      print(found(await store.deadLetters.show(id), `dead letter ${id}`, "lazaret dlq list"));
    });
  for (const verb of ["redrive", "purge"] as const) {
    command
      .command(verb)
      .argument("[id...]", "as lazaret dlq list shows them")
      .description(verb === "redrive" ? "put dead letters back into the queue" : "delete dead letters for good")
      .option(...DATA_DIR)
      .option("--all", "every one of them")
      .action(async (ids: string[], flags: Flags) => {
        const chosen = choose(ids, flags.all ?? false, verb);
        await using store = await localStore({ dataDir: flags.dataDir });
        const count = await store.deadLetters[verb](chosen);
        const wanted = chosen === "all" ? count : chosen.length;
        print(`${verb === "redrive" ? "put back" : "deleted"} ${count} of ${wanted}\n`);
        if (count < wanted) process.exitCode = 1;
      });
  }
  return withExamples(command, [
    ["dlq list", "what was given up, and why"],
    ["dlq show 0198a7c4-…", "one of them"],
    ["dlq redrive --all", "once the receivers are back"],
    ["dlq purge 0198a7c4-…", "delete one for good"],
  ]);
}

function choose(ids: readonly string[], all: boolean, verb: string): readonly string[] | "all" {
  if (all === ids.length > 0) {
    throw wrongUsage(`say which dead letters to ${verb}`, `lazaret dlq ${verb} ID…, or lazaret dlq ${verb} --all`);
  }
  return all ? "all" : ids;
}
