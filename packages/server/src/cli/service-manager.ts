import { execFile } from "node:child_process";
import type { Log } from "../log.ts";

/**
 * Who started the service and wants to hear how it is: systemd, by its notify protocol, where the unit is of Type=notify. Nobody
 * otherwise, and then each of these does nothing.
 */
export interface ServiceManager {
  /** It takes requests. */
  ready(status: string): void;
  reloading(): void;
  reloaded(): void;
  stopping(): void;
  /** From now on, as often as the unit's WatchdogSec wants it; until it stops. */
  watch(): void;
}

/** More than the 5 seconds that systemd-notify itself waits for an answer. */
const LONGEST_SEND_MS = 10_000;
/** Of WatchdogSec: two messages may be late or lost. */
const BEATS = 3;

/**
 * Sent by the program systemd-notify, which comes with systemd: Node opens no datagram sockets of the kind that this takes. So units need
 * NotifyAccess=all. Where the environment names no socket nothing is ever run. The variables are removed, as they are not for the
 * programs that we start ourselves.
 */
export function serviceManager(log: Log, env: NodeJS.ProcessEnv = process.env): ServiceManager {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = env;
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete env[name];
  const isForUs = WATCHDOG_PID === undefined || Number(WATCHDOG_PID) === process.pid;
  const watchdogMs = isForUs ? Number(WATCHDOG_USEC ?? 0) / 1000 : 0;
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  let wasWell = true;
  let timer: NodeJS.Timeout | undefined;

  /** One after the other, as systemd goes by their order. */
  function send(...assignments: string[]): void {
    if (!NOTIFY_SOCKET) return;
    waiting += 1;
    last = last.then(async () => {
      const error = await notify(assignments, { ...env, NOTIFY_SOCKET });
      waiting -= 1;
      if (error && wasWell) log.error("service_manager", { error, hint: HINT });
      wasWell = !error;
    });
  }

  return {
    ready: (status) => send("READY=1", `STATUS=${status}`),
    reloading() {
      // The time is what units of Type=notify-reload ask for.
      send("RELOADING=1", `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`);
    },
    reloaded: () => send("READY=1"),
    stopping() {
      clearInterval(timer);
      send("STOPPING=1", "STATUS=finishing what is under way");
    },
    watch() {
      if (!NOTIFY_SOCKET || !(watchdogMs > 0)) return;
      // A timer of the event loop that also answers requests: while that is stuck, nothing is sent.
      timer = setInterval(() => {
        if (waiting === 0) send("WATCHDOG=1");
      }, watchdogMs / BEATS);
      timer.unref();
    },
  };
}

const HINT = "systemd-notify must be on the PATH, and the unit must have NotifyAccess=all";

/** Answers what went wrong. */
function notify(assignments: readonly string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile("systemd-notify", assignments, { env, timeout: LONGEST_SEND_MS }, (error, _, said) => {
      resolve(error ? said.trim() || error.message : undefined);
    });
  });
}
