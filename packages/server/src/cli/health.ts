import { Command } from "commander";
import { withExamples } from "./examples.ts";

export function healthCommand(): Command {
  const command = new Command("health")
    .description("ask the service on this machine whether it can scan, for health checks of containers and scripts")
    .option("--live", "only whether it answers: for those who restart what is not alive")
    .action(async ({ live = false }: { live?: boolean }) => {
      process.exitCode = await (await import("./health-check.ts")).checkHealth({ live });
    });
  return withExamples(
    command,
    [
      ["health", "what is wrong goes to stderr"],
      ["health --live", ""],
    ],
    [
      "It asks where LAZARET_HOST and LAZARET_PORT of this environment, or of lazaret.json, say that the service listens.",
      "Exit code: 0 ready, 1 not ready or no answer, 78 wrong settings.",
    ],
  );
}
