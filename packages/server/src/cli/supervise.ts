import { type ChildProcess, fork } from "node:child_process";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { KeysOfSettings } from "../compose/console.ts";
import type { Place } from "../compose/servers.ts";
import { LONGEST_SOCKET_PATH, runFolder } from "../engines/run-folder.ts";
import { QUIET } from "../flow/bare-thread.ts";
import { addUp, type Counts, countersOf } from "../metrics/add-up.ts";
import { concurrencyOf, GRACE_MS } from "../pipeline/limits.ts";
import {
  ANSWER_MS,
  LAST_GRACE_MS,
  LONG_LIFE_MS,
  OTHERS_MS,
  restartSeconds,
  STARTS_IN_A_ROW,
  settingsOfOne,
} from "../pipeline/processes.ts";
import { settingsFacts } from "../settings/settings-facts.ts";
import type { Settings } from "../settings.ts";
import { type FrontDoors, frontDoors } from "./front-doors.ts";
import type { LoadedSettings } from "./load-settings.ts";
import { type Channel, channel, forwardLines } from "./process-channel.ts";
import { followKeys, type RunOptions, SAME_SIGNAL_MS } from "./run-service.ts";
import type { StartOrder, Up } from "./serving-process.ts";

const ENTRY = fileURLToPath(new URL("./serving-process.ts", import.meta.url));
/** As bin/lazaret.mjs has it for a single process, and why. */
const NODE_FLAGS = [
  "--min-semi-space-size=8",
  "--max-semi-space-size=8",
  "--heap-growing-percent=50",
  "--no-memory-reducer",
  "--wasm-tiering-budget=500000000",
];

export interface SuperviseOptions extends RunOptions {
  settings: Settings;
  origins?: LoadedSettings["origins"];
  processes: number;
  /** Of the log lines of all processes, which are written by this one, so that no two get mixed. */
  format: StartOrder["format"];
  write(lines: Uint8Array): unknown;
  allowShortKeys?: boolean;
  useLink?: (token: string) => Promise<boolean>;
  /** All take requests. */
  onUp(first: Up): void;
}

/**
 * Several processes, each a whole service on the same port and the same data, until the signal. This one scans nothing and holds no
 * data: it hands out connections in turn, starts again who died, and asks all when somebody asks one for its metrics.
 *
 *   starting ──up──▶ serving ──ended──▶ waiting (0, 1, 2, 4 … s) ──▶ starting
 *
 * The first is started alone: what keeps a service from starting is said once, and it makes what all of them need.
 */
export async function superviseProcesses(options: SuperviseOptions): Promise<void> {
  const { processes, log, until, alsoStop, manager } = options;
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  let keys = options.startKeys;
  /** What processes counted that are gone. */
  let counted: Counts = [];
  let signal: string | undefined;
  let stopping = false;
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  void until.then((name) => {
    signal = name;
  });

  using doors = frontDoors();
  await using folder = await runFolder();
  const same = socketIn(folder.path);
  const parts = { ...options, keys: () => keys, doors, othersOf, ended, gaveUp: failed.reject, same };
  const members = Array.from({ length: processes }, (_, index) => member({ number: index + 1, of: processes }, parts));

  async function othersOf(number: number): Promise<Counts[]> {
    const others = members.filter((each) => each.number !== number);
    return [counted, ...(await Promise.all(others.map((each) => each.metrics())))];
  }

  function ended(counts: Counts): boolean {
    counted = addUp([counted, counts]);
    return !stopping;
  }

  async function reload(): Promise<void> {
    manager?.reloading();
    try {
      const read = options.readKeys();
      const up = members.filter((each) => each.up);
      const told = await Promise.allSettled(up.map((each) => each.changeKeys(read)));
      const taken = told.find((each) => each.status === "fulfilled");
      const [refused] = told;
      // All refuse keys that are not good, and keep the old ones.
      if (!taken && refused?.status === "rejected") throw refused.reason;
      keys = read;
      // Who died or is silent would go on with the old ones: it comes back with these.
      for (const [index, each] of up.entries()) if (told[index]?.status === "rejected") each.kill();
      // Who came meanwhile was started with the old ones.
      const late = members.filter((each) => each.up && !up.includes(each));
      await Promise.all(late.map((each) => each.changeKeys(read)));
      log("reloaded", { api_keys: taken?.value ?? read.apiKeys.length });
    } catch (error) {
      log.error("not_reloaded", { error: error instanceof Error ? error.message : String(error) });
    }
    manager?.reloaded();
  }

  async function allAlive(limitMs: number): Promise<boolean> {
    const answers = await Promise.all(members.map((each) => each.alive(limitMs)));
    return answers.every((alive) => alive);
  }

  async function stopAll(drainMs: number): Promise<boolean> {
    stopping = true;
    doors.stop();
    const ends = await Promise.all(members.map((each) => each.stop(drainMs)));
    return ends.every((well) => well);
  }

  using following = new DisposableStack();
  try {
    const [first, ...others] = members;
    const up = await first?.start();
    await Promise.all(others.map((each) => each.start()));
    if (up) options.onUp(up);
    manager?.watch(allAlive);
    following.use(followKeys(options, () => void reload()));
    await Promise.race([until, failed.promise]);
  } catch (error) {
    await stopAll(0);
    await alsoStop?.();
    // Whoever wants it to end ends the processes that are starting, too.
    if (signal === undefined) throw error;
    return;
  }
  const asked = Date.now();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (Date.now() - asked <= SAME_SIGNAL_MS) return;
      for (const each of members) each.kill();
      process.exit(1);
    });
  }
  const drainSeconds = signal === "SIGTERM" ? options.drainSeconds : 0;
  log("stopping", { signal, drain_seconds: drainSeconds });
  manager?.stopping();
  if (!(await stopAll(drainSeconds * 1000))) process.exitCode = 1;
  await alsoStop?.();
  log("stopped");
}

interface Member {
  readonly number: number;
  readonly up: boolean;
  /** The first time. Throws what kept it from starting. */
  start(): Promise<Up>;
  changeKeys(keys: KeysOfSettings): Promise<number>;
  /** Whether it answers, if it is up. Killed otherwise: it comes back, and the others need not be restarted with it. */
  alive(limitMs: number): Promise<boolean>;
  /** Never throws; without an answer only what it had counted before. */
  metrics(): Promise<Counts>;
  /** Answers whether it ended well. */
  stop(drainMs: number): Promise<boolean>;
  kill(): void;
}

interface MemberOptions extends SuperviseOptions {
  keys(): KeysOfSettings;
  /** For all of them. */
  same: Pick<StartOrder, "consoleSocket">;
  doors: FrontDoors;
  othersOf(number: number): Promise<Counts[]>;
  /** With what it had counted. Answers whether it should be started again. */
  ended(counts: Counts): boolean;
  gaveUp(error: unknown): void;
}

/** One process through all its lives. */
function member(among: StartOrder["among"], options: MemberOptions): Member {
  const { number } = among;
  const { log, settings, doors, format, allowShortKeys = false } = options;
  const mine = settingsOfOne(settings, concurrencyOf(settings.engine), among);
  const stopped = new AbortController();
  let life: { child: ChildProcess; ask: Channel["ask"]; gone: Promise<boolean> } | undefined;
  let up = false;
  /** What it said last of what it counts. */
  let last: Counts = [];
  let earlyDeaths = 0;
  let again: Promise<void> | undefined;

  /** Resolves when it takes requests; when it ends after that it is started again. */
  async function start(): Promise<Up> {
    const child = fork(ENTRY, {
      execArgv: [...process.execArgv, ...NODE_FLAGS, ...QUIET],
      serialization: "advanced",
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const taker = { hand: (name: string, socket: Socket) => line.hand("connection", name, socket) };
    const line = channel(child, {
      listen: (place: Place) => doors.open(place, taker),
      leave: (name: string) => doors.leave(name, taker),
      async others(own: Counts) {
        last = own;
        return options.othersOf(number);
      },
      link: async (token: string) => (await options.useLink?.(token)) ?? false,
      async last(own: Counts) {
        last = own;
      },
    });
    if (child.stdout) forwardLines(child.stdout, options.write);
    const gone = new Promise<boolean>((resolve) => {
      const over = (how: string | number): void => {
        line.end(new Error(`process ${number} ended with ${how} before it was asked to`));
        doors.gone(taker);
        resolve(how === 0);
        if (life?.child !== child) return;
        life = undefined;
        if (up) died(how, startedAt);
      };
      child.once("exit", (code, signal) => over(signal ?? code ?? 0));
      // The system had no room for another process.
      child.on("error", (error: NodeJS.ErrnoException) => child.pid === undefined && over(String(error.code)));
    });
    life = { child, ask: line.ask, gone };
    const startedAt = performance.now();
    const keys = options.keys();
    const facts = settingsFacts(settings, options.origins);
    const started = { ...mine, ...keys };
    const order: StartOrder = { settings: started, among, format, allowShortKeys, facts, ...options.same };
    try {
      const answer = (await line.ask("start", order)) as Up;
      if (keys !== options.keys()) await line.ask("keys", options.keys(), ANSWER_MS);
      up = true;
      return answer;
    } catch (error) {
      // What it had begun it has undone.
      child.kill("SIGKILL");
      throw error;
    }
  }

  function died(how: string | number, startedAt: number): void {
    up = false;
    const wanted = options.ended(countersOf(last));
    last = [];
    if (!wanted) return;
    earlyDeaths = performance.now() - startedAt < LONG_LIFE_MS ? earlyDeaths + 1 : 1;
    (how === 0 ? log : log.error)("process", { process: number, state: "ended", ended_with: how });
    again = startAgain();
  }

  async function startAgain(): Promise<void> {
    for (let failures = 1; !stopped.signal.aborted; failures += 1) {
      try {
        await pause(restartSeconds(earlyDeaths) * 1000, undefined, { signal: stopped.signal });
        await start();
        return log("process", { process: number, state: "started" });
      } catch (error) {
        if (stopped.signal.aborted) return;
        const { message } = error as Error;
        earlyDeaths += 1;
        const giveUp = failures === STARTS_IN_A_ROW;
        log.error("process", { process: number, state: giveUp ? "given_up" : "not_started", error: message });
        await life?.gone;
        if (giveUp) return options.gaveUp(error);
      }
    }
  }

  return {
    number,
    get up() {
      return up;
    },
    start,
    async changeKeys(keys) {
      return Number(await life?.ask("keys", keys, ANSWER_MS));
    },
    async alive(limitMs) {
      const asked = life;
      if (!up || !asked) return true;
      try {
        await asked.ask("alive", undefined, limitMs);
        return true;
      } catch {
        if (life !== asked || stopped.signal.aborted) return true;
        log.error("process", { process: number, state: "silent", after_seconds: limitMs / 1000 });
        asked.child.kill("SIGKILL");
        return false;
      }
    },
    async metrics() {
      if (!up || !life) return [];
      try {
        last = (await life.ask("metrics", undefined, OTHERS_MS)) as Counts;
        return last;
      } catch {
        return up ? countersOf(last) : [];
      }
    },
    async stop(drainMs) {
      stopped.abort();
      const ending = life;
      if (!ending) {
        await again;
        return true;
      }
      ending.ask("stop", drainMs).catch(() => {});
      using _late = cutAfter(GRACE_MS + LAST_GRACE_MS, () => ending.child.kill("SIGKILL"));
      const well = await ending.gone;
      await again;
      return well;
    },
    kill() {
      life?.child.kill("SIGKILL");
    },
  };
}

/** Where its path is too long for one, each process answers for itself. */
function socketIn(folder: string): Pick<StartOrder, "consoleSocket"> {
  const path = join(folder, "console");
  return Buffer.byteLength(path) > LONGEST_SOCKET_PATH ? {} : { consoleSocket: path };
}

function cutAfter(ms: number, cut: () => void): Disposable {
  const timer = setTimeout(cut, ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
