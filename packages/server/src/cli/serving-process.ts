// One of several processes of a service: started by supervise.ts, which says what to do.
import type { Socket } from "node:net";
import type { RunningService, ServiceOptions } from "../app.ts";
import type { KeysOfSettings } from "../compose/console.ts";
import { afterwards } from "../flow/afterwards.ts";
import { buffered, log, outputLines } from "../log.ts";
import type { Counts } from "../metrics/add-up.ts";
import { engineHealth } from "../pipeline/health.ts";
import { GRACE_MS } from "../pipeline/limits.ts";
import { ANSWER_MS, type OneOf, OTHERS_MS } from "../pipeline/processes.ts";
import type { EngineCheck } from "../scan/engine.ts";
import type { SettingsFacts } from "../settings/settings-facts.ts";
import type { Settings } from "../settings.ts";
import { channel } from "./process-channel.ts";
import { SAME_SIGNAL_MS } from "./run-service.ts";

export interface StartOrder {
  settings: Settings;
  among: OneOf;
  format: "json" | "text";
  allowShortKeys: boolean;
  /** Of the settings of all processes together. */
  facts: SettingsFacts;
  /** On which the first answers for the console. */
  consoleSocket?: string;
}

/** What a process says when it takes requests. */
export interface Up {
  port: number;
  adminPort: number | undefined;
  checks: readonly EngineCheck[];
}

const started = Promise.withResolvers<RunningService>();
started.promise.catch(() => {});
let drainMs = 0;
let stopping: Promise<void> | undefined;
/** By the setting that says where their connections come from. */
const takers = new Map<string, (socket: Socket) => void>();

const supervisor = channel(
  {
    send: (message, socket, options, sent) => process.send?.(message, socket, options, sent),
    on: (event, heard) => process.on(event, heard),
  },
  {
    async start({ settings, format, ...order }: StartOrder): Promise<Up> {
      drainMs = settings.drainSeconds * 1000;
      const after = afterwards();
      const write = buffered(outputLines(process.stdout), after);
      const fields = { process: order.among.number };
      const plain = log({ level: settings.logLevel, format, write, after });
      const marked = Object.assign(((event, more) => plain(event, { ...more, ...fields })) as typeof plain, {
        error: ((event, more) => plain.error(event, { ...more, ...fields })) as typeof plain.error,
        debug: ((event, more) => plain.debug(event, { ...more, ...fields })) as typeof plain.debug,
      });
      try {
        const { startService } = await import("../app.ts");
        const service = await startService(settings, marked, {
          ...order,
          after,
          doctor: async () => (await import("./doctor.ts")).consoleChecks(settings),
          metricsOfOthers,
          door,
          // Once among all processes.
          useLink: async (token) => (await supervisor.ask("link", token, OTHERS_MS)) === true,
        });
        started.resolve(service);
        const { port, adminPort } = service;
        return { port, adminPort, checks: (await engineHealth(service.engine)).checks };
      } catch (error) {
        // It is said over there, once for all processes, and this one is ended from there.
        started.reject(error);
        throw error;
      }
    },
    keys: async (keys: KeysOfSettings) => (await started.promise).changeKeys(keys),
    metrics: async () => (await started.promise).metrics(),
    alive: async () => true,
    async connection(name: string, socket) {
      if (socket) takers.get(name)?.(socket);
    },
    async stop(drain: number) {
      void stop(drain);
    },
  },
);

/** The supervisor listens, and hands over a connection when it is this process's turn. */
const door: ServiceOptions["door"] = (place) => ({
  async open(take) {
    takers.set(place.name, take);
    return (await supervisor.ask("listen", place)) as number;
  },
  async close() {
    // Without a supervisor none comes any more.
    await supervisor.ask("leave", place.name, ANSWER_MS).catch(() => {});
  },
});

let others: readonly Counts[] = [];
/** What the others counted; what they had counted before when the supervisor does not answer. */
async function metricsOfOthers(own: Counts): Promise<readonly Counts[]> {
  others = await supervisor.ask("others", own, OTHERS_MS * 2).then(
    (counts) => counts as readonly Counts[],
    () => others,
  );
  return others;
}

/** In good order; the first who asks decides how long it goes on taking requests. */
function stop(drain: number): Promise<void> {
  stopping ??= (async () => {
    // Whatever hangs: all that was acknowledged is in the queue.
    setTimeout(() => process.exit(1), GRACE_MS).unref();
    const service = await started.promise.catch(() => undefined);
    await service?.stop(undefined, drain);
    if (service) await supervisor.ask("last", await service.metrics(), OTHERS_MS).catch(() => {});
    if (process.connected) process.disconnect();
  })();
  return stopping;
}

// A terminal or systemd sends them to every process of the service; sent to one alone it is replaced.
let askedAt: number | undefined;
for (const name of ["SIGTERM", "SIGINT"] as const) {
  process.on(name, () => {
    if (askedAt !== undefined && Date.now() - askedAt > SAME_SIGNAL_MS) process.exit(1);
    askedAt ??= Date.now();
    void stop(name === "SIGTERM" ? drainMs : 0);
  });
}
// The supervisor reads the keys.
process.on("SIGHUP", () => {});
// Without a supervisor no connection comes any more.
process.once("disconnect", () => {
  supervisor.end(new Error("the supervising process is gone"));
  void stop(0);
});
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
