import { Command } from "commander";
import type { DeadLetters } from "../queue/job-queue.ts";
import { record } from "./audit.ts";
import { addListFlags, DATA_DIR, found, type ListFlags, localStore, printList } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { wrongUsage } from "./exit-codes.ts";
import { tenantName } from "./flag-values.ts";
import { changeLettersOf, pageOfTenant, TENANT_FLAG } from "./of-tenant.ts";
import { ago, print } from "./terminal/output.ts";

interface Flags {
  dataDir?: string;
  all?: boolean;
  tenant?: string;
  whole?: boolean;
}

export function dlqCommand(): Command {
  const command = new Command("dlq").description(
    "look at the dead letters in the local data folder, PostgreSQL or AWS, and put them back",
  );
  const list = command
    .command("list")
    .description("dead letters, newest first")
    .option(...DATA_DIR)
    .option(...TENANT_FLAG, tenantName);
  addListFlags(list).action(({ tenant, ...flags }: ListFlags & { tenant?: string }) =>
    printList(flags, {
      command: tenant === undefined ? "lazaret dlq list" : `lazaret dlq list --tenant ${tenant}`,
      read: ({ deadLetters }, page) =>
        tenant === undefined ? deadLetters.list(page) : pageOfTenant(deadLetters.list, tenant, page),
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
    const changing = command
      .command(verb)
      .argument("[id...]", "as lazaret dlq list shows them")
      .description(verb === "redrive" ? "put dead letters back into the queue" : "delete dead letters for good")
      .option(...DATA_DIR)
      .option("--all", "every one of them")
      .option("--tenant <name>", "every one of this tenant", tenantName)
      .action(async (ids: string[], flags: Flags) => {
        const chosen = choose(ids, flags, verb);
        await using store = await localStore(flags);
        const details = flags.whole && { details: { what: "whole" } };
        await record(store.audit, { what: `dlq.${verb}`, on: chosenInWords(chosen), ...details });
        const { wanted, count } = await change(lettersWith(store.deadLetters, flags), verb, chosen);
        print(`${verb === "redrive" ? "put back" : "deleted"} ${count} of ${wanted}\n`);
        if (count < wanted) process.exitCode = 1;
      });
    if (verb === "redrive") changing.option("--whole", "also fetch and scan again, even if only the callback failed");
  }
  return withExamples(command, [
    ["dlq list", "what was abandoned, and why"],
    ["dlq show 0198a7c4-…", "one of them"],
    ["dlq redrive --all", "once the receivers are back"],
    ["dlq redrive --tenant shop", "those of one tenant"],
    ["dlq redrive --whole 0198a7c4-…", "from the beginning, with another scan"],
    ["dlq purge 0198a7c4-…", "delete one for good"],
  ]);
}

/** Whoever redrives does so as the flags say. */
function lettersWith(letters: DeadLetters, { whole = false }: Flags): DeadLetters {
  return { ...letters, redrive: (ids) => letters.redrive(ids, whole ? "whole" : "rest") };
}

type Chosen = { ids: readonly string[] | "all" } | { tenant: string };

async function change(
  letters: DeadLetters,
  verb: "redrive" | "purge",
  chosen: Chosen,
): Promise<{ wanted: number; count: number }> {
  if ("tenant" in chosen) return changeLettersOf(chosen.tenant, verb, letters);
  const count = await letters[verb](chosen.ids);
  return { wanted: chosen.ids === "all" ? count : chosen.ids.length, count };
}

function choose(ids: readonly string[], { all = false, tenant }: Flags, verb: string): Chosen {
  if ([ids.length > 0, all, tenant !== undefined].filter(Boolean).length !== 1) {
    throw wrongUsage(
      `say which dead letters to ${verb}`,
      `lazaret dlq ${verb} ID…, or lazaret dlq ${verb} --all, or lazaret dlq ${verb} --tenant NAME`,
    );
  }
  return tenant === undefined ? { ids: all ? "all" : ids } : { tenant };
}

/** For the audit log. */
function chosenInWords(chosen: Chosen): string {
  if ("tenant" in chosen) return `all of ${chosen.tenant}`;
  return chosen.ids === "all" ? "all" : chosen.ids.join(" ");
}
