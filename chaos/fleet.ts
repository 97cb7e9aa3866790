import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { LogLine } from "./lazaret.ts";
import { clamdMember, lazaretMember, type Member } from "./members.ts";
import { type Kill, type Target, targets, type Victim } from "./plan.ts";

/** The service under test: real processes on one data folder, killed and started again. */
export interface Fleet extends AsyncDisposable {
  readonly dataDir: string;
  /** Where the API answers; undefined while it is down. */
  readonly apiUrl: string | undefined;
  /** `idle` when it has had no work since it was started, `down` also while one of its processes is replaced. */
  stateOf(target: Target): "down" | "idle" | "worked";
  /** Kills these with -9 at once, and starts them again after a while. Resolves when they are dead. */
  kill(how: Pick<Kill, "targets" | "victim" | "which" | "downMs">): Promise<void>;
  /** Resolves when all that were killed are up again. */
  allUp(): Promise<void>;
  /** Ends all in good order. Answers what went wrong with that. */
  stop(): Promise<string[]>;
  readonly kills: Readonly<Record<Target, number>>;
  /** Where a service is several processes, what was killed of it. */
  readonly victims: Readonly<Record<Victim, number>>;
  /** What the logs told, by event and outcome. A kill swallows the last lines of a process. */
  readonly told: Readonly<Record<string, number>>;
  /** Processes that ended although nobody killed them, or did not come up. */
  readonly trouble: readonly string[];
}

interface FleetOptions {
  folder: string;
  apiKey: string;
  /** Of the API and of each worker. */
  processes: number;
}

/** Queued jobs that each worker scans at once. */
const JOBS_AT_ONCE = "8";
const AGAIN_MS = 1000;

export async function startFleet({ folder, apiKey, processes }: FleetOptions, signal: AbortSignal): Promise<Fleet> {
  const dataDir = join(folder, "data");
  const clamdFolder = join(folder, "clamd");
  const up = new Map<Target, { port: number | undefined; work: number }>();
  const told: Record<string, number> = {};
  const trouble: string[] = [];
  const kills: Record<Target, number> = { api: 0, "worker 1": 0, "worker 2": 0, clamd: 0 };
  const victims: Record<Victim, number> = { process: 0, supervisor: 0, all: 0 };
  const starting = new Set<Promise<void>>();
  const incomplete = new Set<Target>();

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
    onProcess: (words: string) => void trouble.push(`${target}: ${words}`),
    onLine: (line: LogLine) => hear(target, line),
  });
  const lazaret = (target: Target, role: string): Member =>
    lazaretMember({ env: { ...env, LAZARET_ROLE: role }, processes }, events(target));
  const members: Record<Target, Member> = {
    api: lazaret("api", "api"),
    "worker 1": lazaret("worker 1", "worker"),
    "worker 2": lazaret("worker 2", "worker"),
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

  /** Its supervisor starts it again. */
  async function replaceProcess(target: Target, replaced: Promise<void>): Promise<void> {
    const state = up.get(target);
    if (state) state.work = 0;
    incomplete.add(target);
    await replaced;
    incomplete.delete(target);
  }

  function soonUp(start: Promise<void>): void {
    starting.add(start);
    void start.catch(() => {}).finally(() => starting.delete(start));
  }

  async function killAll(): Promise<void> {
    await Promise.all(targets.map((target) => members[target].kill()));
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
    victims,
    told,
    trouble,
    get apiUrl() {
      const port = up.get("api")?.port;
      return port === undefined ? undefined : `http://127.0.0.1:${port}`;
    },
    stateOf(target) {
      const state = up.get(target);
      if (!state || incomplete.has(target)) return "down";
      return state.work > 0 ? "worked" : "idle";
    },
    async kill({ targets: chosen, victim, which, downMs }) {
      for (const target of chosen) kills[target] += 1;
      victims[victim] += chosen.filter((target) => members[target].killProcess).length;
      const [only = "api"] = chosen;
      const replaced = victim === "process" ? members[only].killProcess?.(which) : undefined;
      if (replaced) return soonUp(replaceProcess(only, replaced));
      const dead = chosen.map((target) => members[target].kill({ victim }));
      // Clients know no sooner than that.
      for (const target of chosen) up.delete(target);
      await Promise.all(dead);
      for (const target of chosen) soonUp(startAgain(target, downMs));
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

function nameOf({ event, level, settlement, delivered, state }: LogLine): string {
  const outcome = settlement ?? state ?? (delivered === undefined ? undefined : delivered ? "delivered" : "failed");
  return [level === "error" ? "error" : undefined, event, outcome].filter(Boolean).join(" ");
}
