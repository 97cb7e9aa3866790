import { Command } from "commander";
import { configCommand } from "./cli/config.ts";
import { devCommand } from "./cli/dev.ts";
import { dlqCommand } from "./cli/dlq.ts";
import { guardCommand } from "./cli/guard.ts";
import { jobsCommand } from "./cli/jobs.ts";
import { serveCommand } from "./cli/serve.ts";
import { version } from "./version.ts";

/** Exit code for settings that keep the service from starting (sysexits: EX_CONFIG). */
const EXIT_SETTINGS = 78;

const program = new Command("lazaret")
  .description("malware scanning as a service that you run yourself")
  .version(version)
  .addCommand(devCommand())
  .addCommand(serveCommand())
  .addCommand(guardCommand())
  .addCommand(jobsCommand())
  .addCommand(dlqCommand())
  .addCommand(configCommand());

try {
  await program.parseAsync();
} catch (error) {
  // What an operator can mend comes with a hint; the rest is a bug, and keeps its stack.
  if (!(error instanceof Error && "hint" in error)) throw error;
  process.stderr.write(`lazaret: ${error.message}\nhint: ${error.hint}\n`);
  process.exitCode = EXIT_SETTINGS;
}
