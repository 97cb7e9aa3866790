import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ClamdDoor, clamdDoor } from "./killer.ts";
import type { LogLine } from "./lazaret.ts";
import { clamdMember, lazaretMember, type Member, postgresMember } from "./members.ts";
import type { Kill, Target } from "./plan.ts";
import type { Storage } from "./storage.ts";

/** The service under test: real processes on one storage, killed and started again. */
export interface Fleet extends AsyncDisposable {
  /** All that can be killed. */
  readonly targets: readonly Target[];
  /** Where an API answers, each in turn; undefined while all are down. */
  readonly apiUrl: string | undefined;
  /** `idle` when it has had no work since it was started. */
  stateOf(target: Target): "down" | "idle" | "worked";
  /** Kills these with -9 at once, and starts them again after a while. Resolves when they are dead. */
  kill(how: Pick<Kill, "targets" | "downMs">): Promise<void>;
  /** Resolves when all that were killed are up again. */
  allUp(): Promise<void>;
  /** Ends all in good order. Answers what went wrong with that. */
  stop(): Promise<string[]>;
  readonly kills: Readonly<Record<Target, number>>;
  /** Workers that died of a file. */
  readonly killedByFile: number;
  /** What the logs told, by event and outcome. A kill swallows the last lines of a process. */
  readonly told: Readonly<Record<string, number>>;
  /** Processes that ended although nobody killed them, or did not come up. */
  readonly trouble: readonly string[];
}

interface FleetOptions {
  folder: string;
  apiKey: string;
  storage: Storage;
}

const CLAMD: Target = "clamd";
const POSTGRES: Target = "postgres";

/** Queued jobs that each worker scans at once. */
const JOBS_AT_ONCE = "8";
const AGAIN_MS = 1000;

export async function startFleet(options: FleetOptions, signal: AbortSignal): Promise<Fleet> {
  const { folder, apiKey, storage } = options;
  const clamdFolder = join(folder, "clamd");
  const clamdPath = join(clamdFolder, "clamd.sock");
  const apis = named("api", storage.apis);
  const workers = named("worker", storage.workers);
  const targets = [...apis, ...workers, CLAMD, ...(storage.postgres ? [POSTGRES] : [])];
  const up = new Map<Target, { port: number | undefined; work: number }>();
  const told: Record<string, number> = {};
  const trouble: string[] = [];
  const kills: Record<Target, number> = Object.fromEntries(targets.map((target) => [target, 0]));
  const starting = new Set<Promise<void>>();
  const diedOfFile = new Set<Target>();
  let killedByFile = 0;
  let asked = 0;
  /** How often the server had been killed when each was started; undefined when it was away. */
  const startedAt = new Map<Target, number | undefined>();

  const env = {
    LAZARET_API_KEYS: apiKey,
    // Nobody balances load here.
    LAZARET_DRAIN_SECONDS: "0",
    LAZARET_HOST: "127.0.0.1",
    LAZARET_PORT: "0",
    LAZARET_ENGINE: "Q",
    LAZARET_WORKERS: JOBS_AT_ONCE,
    LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_CALLBACK_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_HTTP_CALLBACKS: "true",
    LAZARET_SIGN_CALLBACK_INVOCATIONS: "true",
  };

  /** What a worker scanned is clamd's work too, and all of it that of the server. */
  function hear(target: Target, line: LogLine): void {
    const name = nameOf(line);
    told[name] = (told[name] ?? 0) + 1;
    const worked =
      line.event === "job" ? [target, CLAMD, POSTGRES] : line.event === "request" ? [target, POSTGRES] : [];
    for (const state of worked.map((each) => up.get(each))) if (state) state.work += 1;
  }

  /** Who starts while the server is away ends, and is started again, as an init system does. */
  function startedInVain(target: Target): boolean {
    if (!storage.postgres || up.has(target)) return false;
    return !up.has(POSTGRES) || startedAt.get(target) !== kills[POSTGRES];
  }

  const events = (target: Target) => ({
    onUp: (port?: number) => void up.set(target, { port, work: 0 }),
    onEnd(words: string) {
      if (!startedInVain(target)) trouble.push(`${target} ${words}`);
      up.delete(target);
    },
    onLine: (line: LogLine) => hear(target, line),
  });
  const doors = new Map<Target, ClamdDoor>(
    workers.map((target) => [target, clamdDoor(join(folder, `${target}.sock`), clamdPath, () => dieOfFile(target))]),
  );
  const lazaret = (target: Target, role: string): Member => {
    const own = { LAZARET_ROLE: role, LAZARET_CLAMD: `unix:${doors.get(target)?.path ?? clamdPath}` };
    return lazaretMember({ ...env, ...storage.envOf(target), ...own }, events(target));
  };
  const members = new Map<Target, Member>([
    ...apis.map((target) => [target, lazaret(target, "api")] as const),
    ...workers.map((target) => [target, lazaret(target, "worker")] as const),
    [CLAMD, clamdMember({ folder: clamdFolder, doors: [...doors.values()] }, events(CLAMD), signal)],
  ]);
  if (storage.postgres) members.set(POSTGRES, postgresMember(storage.postgres, events(POSTGRES)));

  function memberOf(target: Target): Member {
    const found = members.get(target);
    if (!found) throw new Error(`there is no ${target}`);
    return found;
  }

  async function start(target: Target): Promise<void> {
    diedOfFile.delete(target);
    startedAt.set(target, up.has(POSTGRES) ? kills[POSTGRES] : undefined);
    await memberOf(target).start();
  }

  async function startAgain(target: Target, downMs: number): Promise<void> {
    await pause(downMs, undefined, { signal });
    for (;;) {
      try {
        return await start(target);
      } catch (error) {
        signal.throwIfAborted();
        if (!diedOfFile.has(target) && !startedInVain(target)) trouble.push(`${target} did not start again: ${error}`);
        await pause(AGAIN_MS, undefined, { signal });
      }
    }
  }

  /** Once in each life. Who was not up yet is tried again by whoever starts it. */
  function dieOfFile(target: Target): void {
    if (diedOfFile.has(target)) return;
    diedOfFile.add(target);
    killedByFile += 1;
    const wasUp = up.delete(target);
    void memberOf(target).kill();
    if (wasUp) soonUp(startAgain(target, AGAIN_MS));
  }

  function soonUp(start: Promise<void>): void {
    starting.add(start);
    void start.catch(() => {}).finally(() => starting.delete(start));
  }

  async function killAll(): Promise<void> {
    await Promise.all(targets.map((target) => memberOf(target).kill()));
    await Promise.allSettled(starting);
    await Promise.all(targets.map((target) => memberOf(target).kill()));
  }

  // It is up already.
  if (storage.postgres) up.set(POSTGRES, { port: undefined, work: 0 });
  const started = await Promise.allSettled(targets.filter((target) => target !== POSTGRES).map(start));
  const failed = started.find((start) => start.status === "rejected");
  if (failed) {
    await killAll();
    throw failed.reason;
  }
  return {
    targets,
    kills,
    get killedByFile() {
      return killedByFile;
    },
    told,
    trouble,
    get apiUrl() {
      const ports = apis.flatMap((target) => up.get(target)?.port ?? []);
      asked += 1;
      const port = ports[asked % ports.length];
      return port === undefined ? undefined : `http://127.0.0.1:${port}`;
    },
    stateOf(target) {
      const state = up.get(target);
      if (!state) return "down";
      return state.work > 0 ? "worked" : "idle";
    },
    async kill({ targets: chosen, downMs }) {
      for (const target of chosen) kills[target] = (kills[target] ?? 0) + 1;
      const dead = chosen.map((target) => memberOf(target).kill());
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
        const wrong = await memberOf(target).stop();
        return wrong === undefined ? [] : [`${target} ${wrong}`];
      });
      return (await Promise.all(ends)).flat();
    },
    [Symbol.asyncDispose]: killAll,
  };
}

/** One has no number. */
function named(name: string, count: number): Target[] {
  return count === 1 ? [name] : Array.from({ length: count }, (_, index) => `${name} ${index + 1}`);
}

function nameOf({ event, level, settlement, delivered, state }: LogLine): string {
  const outcome = settlement ?? state ?? (delivered === undefined ? undefined : delivered ? "delivered" : "failed");
  return [level === "error" ? "error" : undefined, event, outcome].filter(Boolean).join(" ");
}
