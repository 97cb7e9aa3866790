import { fileURLToPath } from "node:url";
import { type OwnClamd, ownClamd } from "../packages/server/src/engines/clamd/own-clamd.ts";
import type { ClamdDoor } from "./killer.ts";
import { kill, type Lazaret, type LogLine, startLazaret } from "./lazaret.ts";
import type { Kill } from "./plan.ts";
import type { Postgres } from "./postgres.ts";

/** One process of the service, or several with the one that supervises them, through all their lives. */
export interface Member {
  /** Resolves when it is up. Rejects when it ended before that. */
  start(): Promise<void>;
  /** With -9, before this returns. Resolves when it is dead. */
  kill(how?: Pick<Kill, "victim">): Promise<void>;
  /** Kills one of several processes, before this returns. Resolves when it is replaced. Undefined where there is only one. */
  killProcess?(which: number): Promise<void>;
  /** Ends it in good order, and answers what went wrong with that. */
  stop(): Promise<string | undefined>;
}

interface MemberEvents {
  /** The port only where there is one. */
  onUp(port?: number): void;
  /** It ended by itself, after it was up or before. */
  onEnd(words: string): void;
}

const signaturesDir = fileURLToPath(new URL("../packages/server/signatures", import.meta.url));
const CLAMD_THREADS = "32";

export interface LazaretOptions {
  env: Readonly<Record<string, string>>;
  processes: number;
}

export function lazaretMember(
  { env, processes }: LazaretOptions,
  events: MemberEvents & {
    onLine(line: LogLine): void;
    /** One of several processes ended by itself, or did not start again. */
    onProcess(words: string): void;
  },
): Member {
  let running: Lazaret | undefined;
  let wanted = false;
  /** Of which a process may still be there. */
  const lives = new Set<Lazaret>();
  let replaced: PromiseWithResolvers<void> | undefined;

  /** What the supervisor says of a process. */
  function hear(line: LogLine): void {
    events.onLine(line);
    if (line.event !== "process") return;
    if (line.state === "started") replaced?.resolve();
    else if (line.state !== "ended" || line.ended_with !== "SIGKILL") events.onProcess(JSON.stringify(line));
  }

  return {
    async start() {
      wanted = true;
      const life = startLazaret({ ...env, LAZARET_PROCESSES: String(processes) }, hear);
      running = life;
      lives.add(life);
      void life.gone.then(({ code, words }) => {
        lives.delete(life);
        if (running === life) replaced?.resolve();
        if (wanted && running === life) events.onEnd(`ended by itself with ${code}: ${words}`);
      });
      const port = await life.ready;
      if (wanted && running === life) events.onUp(port);
    },
    async kill({ victim } = { victim: "all" }) {
      wanted = false;
      replaced?.resolve();
      if (victim === "supervisor") running?.signal("SIGKILL");
      else for (const life of lives) life.killAll();
      await running?.ended;
    },
    ...(processes > 1 && {
      async killProcess(which: number) {
        const pids = running?.processes() ?? [];
        const victim = pids[Math.floor(which * pids.length)];
        if (victim === undefined) return;
        replaced = Promise.withResolvers();
        kill(victim);
        await replaced.promise;
      },
    }),
    async stop() {
      wanted = false;
      running?.signal("SIGTERM");
      const end = await running?.gone;
      await Promise.all([...lives].map(({ gone }) => gone));
      return end && end.code !== 0 ? `ended with ${end.code} when asked to stop: ${end.words}` : undefined;
    },
  };
}

/** The caller's signal ends the wait for one that does not come up. */
export function clamdMember(
  { folder, doors }: { folder: string; doors: readonly ClamdDoor[] },
  { onUp }: Pick<MemberEvents, "onUp">,
  signal: AbortSignal,
): Member {
  let running: OwnClamd | undefined;
  const close = (): void => {
    for (const door of doors) door.close();
  };
  return {
    async start() {
      running = await ownClamd({ folder, signaturesDir, config: { MaxThreads: CLAMD_THREADS } }, signal);
      await Promise.all(doors.map((door) => door.open()));
      onUp();
    },
    async kill() {
      close();
      await running?.kill();
    },
    async stop() {
      close();
      await running?.stop();
      return undefined;
    },
  };
}

/** Goes on when the rest is stopped: it is asked what became of all. */
export function postgresMember(
  { start, kill }: Pick<Postgres, "start" | "kill">,
  { onUp }: Pick<MemberEvents, "onUp">,
): Member {
  return {
    async start() {
      await start();
      onUp();
    },
    kill,
    stop: async () => undefined,
  };
}
