import type { RunningService } from "../app.ts";
import type { KeysOfSettings } from "../compose/console.ts";
import type { Log } from "../log.ts";
import { GRACE_MS, KEY_FILES_EVERY_MS } from "../pipeline/limits.ts";
import type { ServiceManager } from "./service-manager.ts";

/** Signals within this time count as one: a terminal's Ctrl-C reaches both launcher and server. */
const SAME_SIGNAL_MS = 1000;

/** The first SIGTERM or SIGINT from now on. Installed before start-up, so that an early signal is not missed. */
export function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, () => resolve(name));
  });
}

export interface HangUps {
  /** Called at each SIGHUP from now on, and now if one has come already. */
  handle(reload: () => void): void;
}

/** SIGHUP never ends a service, it makes it read its keys again. Installed before start-up, as an early one would end the process. */
export function hangUps(): HangUps {
  let reload: (() => void) | undefined;
  let early = false;
  process.on("SIGHUP", () => {
    if (reload) reload();
    else early = true;
  });
  return {
    handle(given) {
      reload = given;
      if (early) given();
    },
  };
}

/**
 * Calls `reload` at each SIGHUP, and when the keys that are set are others than those in use and have stayed so for one look: they may be
 * in a file, which somebody may be writing. What cannot be read is such a change, too, so that it is logged, once.
 */
function followKeys({ hangUps, readKeys, startKeys }: Omit<RunOptions, "log">, reload: () => void): Disposable {
  let taken = JSON.stringify(startKeys);
  let before = taken;

  function look(): string {
    try {
      return JSON.stringify(readKeys());
    } catch (error) {
      return String(error);
    }
  }

  hangUps.handle(() => {
    taken = look();
    reload();
  });
  const timer = setInterval(() => {
    const now = look();
    const isStill = now === before;
    before = now;
    if (now === taken || !isStill) return;
    taken = now;
    reload();
  }, KEY_FILES_EVERY_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

export interface RunOptions {
  until: Promise<string>;
  hangUps: HangUps;
  /** The keys as they are set now. Throws when they cannot be read, or are not good; then the old ones stay. */
  readKeys(): KeysOfSettings;
  /** Those that the service was started with. */
  startKeys: KeysOfSettings;
  log: Log;
  /** After SIGTERM only: after SIGINT somebody waits at a terminal. */
  drainSeconds: number;
  alsoStop?: () => Promise<void>;
  /** Undefined where somebody watches it at a terminal. */
  manager?: ServiceManager;
}

export function keysOf({ apiKeys, adminKeys, viewerKeys }: KeysOfSettings): KeysOfSettings {
  return { apiKeys, adminKeys, viewerKeys };
}

/** Runs until the signal, then stops in good order; a second signal does not wait. */
export async function runUntilSignal(service: RunningService, options: RunOptions): Promise<void> {
  const { until, log, alsoStop, manager } = options;
  manager?.watch();
  using _following = followKeys(options, () => void reload(service, options));
  // Keep running when stdout or stderr is closed.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const signal = await until;
  const asked = Date.now();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (Date.now() - asked > SAME_SIGNAL_MS) process.exit(1);
    });
  }
  const drainSeconds = signal === "SIGTERM" ? options.drainSeconds : 0;
  log("stopping", { signal, drain_seconds: drainSeconds });
  manager?.stopping();
  // Whatever hangs: all that was acknowledged is in the queue.
  setTimeout(() => process.exit(1), GRACE_MS).unref();
  await service.stop(undefined, drainSeconds * 1000);
  await alsoStop?.();
  log("stopped");
}

/** Reads the keys again. The folder of rules is checked every two seconds anyway. */
async function reload(service: RunningService, { readKeys, log, manager }: RunOptions): Promise<void> {
  manager?.reloading();
  try {
    log("reloaded", { api_keys: await service.changeKeys(readKeys()) });
  } catch (error) {
    log.error("not_reloaded", { error: error instanceof Error ? error.message : String(error) });
  }
  manager?.reloaded();
}
