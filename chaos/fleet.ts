import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { LogLine } from "./lazaret.ts";
import { clamdMember, lazaretMember, type Member } from "./members.ts";
import { type Target, targets } from "./plan.ts";

/** The service under test: real processes on one data folder, killed and started again. */
export interface Fleet extends AsyncDisposable {
  readonly dataDir: string;
  /** Where the API answers; undefined while it is down. */
  readonly apiUrl: string | undefined;
  /** `idle` when it has had no work since it was started. */
  stateOf(target: Target): "down" | "idle" | "worked";
  /** Kills these with -9 at once, and starts them again after a while. Resolves when they are dead. */
  kill(chosen: readonly Target[], downMs: number): Promise<void>;
  /** Resolves when all that were killed are up again. */
  allUp(): Promise<void>;
  /** Ends all in good order. Answers what went wrong with that. */
  stop(): Promise<string[]>;
  readonly kills: Readonly<Record<Target, number>>;
  /** What the logs told, by event and outcome. A kill swallows the last lines of a process. */
  readonly told: Readonly<Record<string, number>>;
  /** Processes that ended although nobody killed them, or did not come up. */
  readonly trouble: readonly string[];
}

interface FleetOptions {
  folder: string;
  apiKey: string;
}

/** Queued jobs that each worker scans at once. */
const JOBS_AT_ONCE = "8";
const AGAIN_MS = 1000;

export async function startFleet({ folder, apiKey }: FleetOptions, signal: AbortSignal): Promise<Fleet> {
  const dataDir = join(folder, "data");
  const clamdFolder = join(folder, "clamd");
  const up = new Map<Target, { port: number | undefined; work: number }>();
  const told: Record<string, number> = {};
  const trouble: string[] = [];
  const kills: Record<Target, number> = { api: 0, "worker 1": 0, "worker 2": 0, clamd: 0 };
  const starting = new Set<Promise<void>>();

  const env = {
    LAZARET_API_KEYS: apiKey,
    // Nobody balances load here.
    LAZARET_DRAIN_SECONDS: "0",
    LAZARET_DATA_DIR: dataDir,
    LAZARET_HOST: "127.0.0.1",
    LAZARET_PORT: "0",
    LAZARET_ENGINE: "Q",
    LAZARET_CLAMD: `unix:${join(clamdFolder, "clamd.sock")}`,
    LAZARET_WORKERS: JOBS_AT_ONCE,
    LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_CALLBACK_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_HTTP_CALLBACKS: "true",
    LAZARET_SIGN_CALLBACK_INVOCATIONS: "true",
  };

  /** What a worker scanned is clamd's work too. */
  function hear(target: Target, line: LogLine): void {
    const name = nameOf(line);
    told[name] = (told[name] ?? 0) + 1;
    const workers: readonly Target[] =
      line.event === "job" ? [target, "clamd"] : line.event === "request" ? [target] : [];
    for (const state of workers.map((each) => up.get(each))) if (state) state.work += 1;
  }

  const events = (target: Target) => ({
    onUp: (port?: number) => void up.set(target, { port, work: 0 }),
    onEnd(words: string) {
      up.delete(target);
      trouble.push(`${target} ${words}`);
    },
    onLine: (line: LogLine) => hear(target, line),
  });
  const members: Record<Target, Member> = {
    api: lazaretMember({ ...env, LAZARET_ROLE: "api" }, events("api")),
    "worker 1": lazaretMember({ ...env, LAZARET_ROLE: "worker" }, events("worker 1")),
    "worker 2": lazaretMember({ ...env, LAZARET_ROLE: "worker" }, events("worker 2")),
    clamd: clamdMember(clamdFolder, events("clamd"), signal),
  };

  async function startAgain(target: Target, downMs: number): Promise<void> {
    await pause(downMs, undefined, { signal });
    for (;;) {
      try {
        return await members[target].start();
      } catch (error) {
        signal.throwIfAborted();
        trouble.push(`${target} did not start again: ${error}`);
        await pause(AGAIN_MS, undefined, { signal });
      }
    }
  }

  async function killAll(): Promise<void> {
    await Promise.allSettled(starting);
    await Promise.all(targets.map((target) => members[target].kill()));
  }

  const started = await Promise.allSettled(targets.map((target) => members[target].start()));
  const failed = started.find((start) => start.status === "rejected");
  if (failed) {
    await killAll();
    throw failed.reason;
  }
  return {
    dataDir,
    kills,
    told,
    trouble,
    get apiUrl() {
      const port = up.get("api")?.port;
      return port === undefined ? undefined : `http://127.0.0.1:${port}`;
    },
    stateOf(target) {
      const state = up.get(target);
      if (!state) return "down";
      return state.work > 0 ? "worked" : "idle";
    },
    async kill(chosen, downMs) {
      const dead = chosen.map((target) => members[target].kill());
      // Clients know no sooner than that.
      for (const target of chosen) up.delete(target);
      await Promise.all(dead);
      for (const target of chosen) {
        kills[target] += 1;
        const start = startAgain(target, downMs);
        starting.add(start);
        void start.catch(() => {}).finally(() => starting.delete(start));
      }
    },
    async allUp() {
      await Promise.all(starting);
    },
    async stop() {
      const ends = targets.map(async (target) => {
        const wrong = await members[target].stop();
        return wrong === undefined ? [] : [`${target} ${wrong}`];
      });
      return (await Promise.all(ends)).flat();
    },
    [Symbol.asyncDispose]: killAll,
  };
}

function nameOf({ event, level, settlement, delivered }: LogLine): string {
  const outcome = settlement ?? (delivered === undefined ? undefined : delivered ? "delivered" : "failed");
  return [level === "error" ? "error" : undefined, event, outcome].filter(Boolean).join(" ");
}
