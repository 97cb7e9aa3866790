import { Command } from "commander";
import { CannotStart } from "../compose/cannot-start.ts";
import { withExamples } from "./examples.ts";
import { addSettingFlags, loadSettings } from "./load-settings.ts";
import { out, say } from "./terminal/output.ts";

export function migrateCommand(): Command {
  const command = new Command("migrate")
    .description("bring the schema of a PostgreSQL database to this version")
    .option("--dry-run", "print the SQL, and change nothing");
  withExamples(
    command,
    [
      ["migrate", "with LAZARET_PLATFORM=postgres and LAZARET_POSTGRES_URL in the environment"],
      ["migrate --dry-run > next.sql", "what it would do"],
    ],
    [
      "lazaret serve does so by itself at its start, unless LAZARET_MIGRATE is off. Older processes may go on running.",
      "It needs no LAZARET_SECRET_KEY: it opens nothing that is sealed with it.",
    ],
  );
  return addSettingFlags(command, ["postgresSchema"]).action(migrate);
}

async function migrate({ dryRun = false, ...flags }: { dryRun?: boolean; postgresSchema?: string }): Promise<void> {
  const { settings } = loadSettings(flags, {});
  if (settings.platform !== "postgres") {
    throw new CannotStart(
      `there is nothing to migrate on platform ${settings.platform}`,
      "set LAZARET_PLATFORM=postgres and LAZARET_POSTGRES_URL",
    );
  }
  const { migratePostgres } = await import("../compose/platform.ts");
  const steps = await migratePostgres(settings, { dryRun });
  for (const { name, sql } of steps) out(dryRun ? `-- ${name}\n${sql}\n` : `${name}\n`);
  if (steps.length === 0) say("nothing to do: the schema is of this version\n");
}
