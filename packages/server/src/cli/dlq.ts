import { Command } from "commander";
import { record } from "./audit.ts";
import { addListFlags, DATA_DIR, found, type ListFlags, localStore, printList } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { wrongUsage } from "./exit-codes.ts";
import { ago, print } from "./terminal/output.ts";

interface Flags {
  dataDir?: string;
  all?: boolean;
}

export function dlqCommand(): Command {
  const command = new Command("dlq").description(
    "look at the dead letters of the local data folder, of PostgreSQL or of AWS, and put them back",
  );
  const list = command
    .command("list")
    .description("dead letters, newest first")
    .option(...DATA_DIR);
  addListFlags(list).action((flags: ListFlags) =>
    printList(flags, {
      command: "lazaret dlq list",
      read: ({ deadLetters }, page) => deadLetters.list(page),
      headings: ["ID", "BURIED", "TRACE ID", "CALLBACK", "REASON"],
      row: ({ id, buriedAt, reason, job }, now) => [
        id,
        ago(buriedAt, now),
        job?.traceId ?? "-",
        job?.callback?.url ?? "-",
        reason,
      ],
    }),
  );
  command
    .command("show")
    .argument("<id>", "as lazaret dlq list shows it")
    .description("one dead letter, without its secrets")
    .option(...DATA_DIR)
    .action(async (id: string, flags: Flags) => {
      await using store = await localStore(flags);
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
        await using store = await localStore(flags);
        await record(store.audit, { what: `dlq.${verb}`, on: chosen === "all" ? "all" : chosen.join(" ") });
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
