import { CannotStart } from "../compose/cannot-start.ts";
import { concurrencyOf } from "../pipeline/limits.ts";
import { mostProcesses, processesOf } from "../pipeline/processes.ts";
import type { Settings } from "../settings.ts";

/** How many processes the settings ask for. Throws when they cannot be given a slot each. */
export function checkedProcesses(settings: Settings): number {
  const byEngine = concurrencyOf(settings.engine);
  const processes = processesOf(settings, byEngine);
  const most = mostProcesses(settings, byEngine);
  if (processes === 1 || processes <= most) return processes;
  const limit = settings.role === "worker" ? "LAZARET_WORKERS" : "LAZARET_CONCURRENCY";
  throw new CannotStart(
    `LAZARET_PROCESSES is ${processes}, and only ${most} files are scanned at once: some processes could scan none`,
    `set ${limit} to at least ${processes}, or fewer processes`,
  );
}
