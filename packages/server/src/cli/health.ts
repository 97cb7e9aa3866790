import { Command } from "commander";
import { withExamples } from "./examples.ts";

export function healthCommand(): Command {
  const command = new Command("health")
    .description("ask the service on this machine whether it can scan, for health checks of containers and scripts")
    .option("--live", "only whether it answers: for supervisors that restart what does not")
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
      "It asks at LAZARET_HOST and LAZARET_PORT, from this environment or from lazaret.json.",
      "Exit code: 0 ready, 1 not ready or no answer, 78 wrong settings.",
    ],
  );
}
