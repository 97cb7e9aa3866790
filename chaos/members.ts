import { fileURLToPath } from "node:url";
import { type OwnClamd, ownClamd } from "../packages/server/src/engines/clamd/own-clamd.ts";
import type { ClamdDoor } from "./killer.ts";
import { type Lazaret, type LogLine, startLazaret } from "./lazaret.ts";
import type { Postgres } from "./postgres.ts";

/** One process of the service, through all its lives. */
export interface Member {
  /** Resolves when it is up. Rejects when it ended before that. */
  start(): Promise<void>;
  /** With -9, before this returns. Resolves when it is dead. */
  kill(): Promise<void>;
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

export function lazaretMember(
  env: Readonly<Record<string, string>>,
  events: MemberEvents & { onLine(line: LogLine): void },
): Member {
  let running: Lazaret | undefined;
  let wanted = false;

  return {
    async start() {
      wanted = true;
      const life = startLazaret(env, events.onLine);
      running = life;
      void life.gone.then(({ code, words }) => {
        if (wanted && running === life) events.onEnd(`ended by itself with ${code}: ${words}`);
      });
      const port = await life.ready;
      if (wanted && running === life) events.onUp(port);
    },
    async kill() {
      wanted = false;
      running?.signal("SIGKILL");
      await running?.gone;
    },
    async stop() {
      wanted = false;
      running?.signal("SIGTERM");
      const end = await running?.gone;
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
