import type { RunningService } from "../app.ts";
import type { Log } from "../log.ts";

/** Signals that come together (a terminal's Ctrl-C reaches launcher and server both) count as one. */
const SAME_SIGNAL_MS = 1000;

/** Runs until SIGTERM or SIGINT, then stops in good order; a second signal does not wait. */
export async function runUntilSignal(service: RunningService, log: Log, alsoStop: () => Promise<void>): Promise<void> {
  const signal = await new Promise<string>((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => resolve(name));
  });
  const asked = Date.now();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (Date.now() - asked > SAME_SIGNAL_MS) process.exit(1);
    });
  }
  log("stopping", { signal });
  await service.stop();
  await alsoStop();
  log("stopped");
}
