import type { Leave } from "../flow/gate.ts";
import type { Engine } from "./engine.ts";

/**
 * Who is scanned at the same time in this process. A suspect is scanned alone: should the process die then, nobody else was it.
 *
 *   others   scan ──▶ │        wait        │ scan ──▶
 *   suspect  wait     │ leave │ scan alone │
 *
 * Nobody is held up for long. Who is in has a moment to leave, and then a suspect begins with the few that are left; who comes waits
 * for a moment at most. Between two suspects the others have as much time as the first has cost them. A process that has just begun lets
 * others go first: a file that kills would else be all that it gets to.
 */
export interface Company {
  /** At once, if nobody is alone. */
  tryEnter(): Leave | undefined;
  /** Throws `signal.reason`. */
  enter(signal: AbortSignal): Promise<Leave>;
  /** One at a time. Throws `signal.reason`. */
  enterAlone(suspect: Suspect, signal: AbortSignal): Promise<Leave>;
}

export interface Suspect {
  share: string;
  /** Those come first that have fewer, and then those whose share has fewer in line. */
  failedTrials: number;
}

export interface CompanyOptions {
  now?: () => number;
  headStartMs?: number;
  leaveMs?: number;
  aloneMs?: number;
}

interface Waiting extends Suspect {
  begin(): void;
}

const HEAD_START_MS = 2000;
const LEAVE_MS = 2000;
/** Most scans take milliseconds. */
const ALONE_MS = 5000;

export function company(options: CompanyOptions = {}): Company {
  const { now = () => performance.now() } = options;
  const { headStartMs = HEAD_START_MS, leaveMs = LEAVE_MS, aloneMs = ALONE_MS } = options;
  let inside = 0;
  const outside = new Set<() => void>();
  const line: Waiting[] = [];
  let turn: Waiting | undefined;
  /** Since when others wait. */
  let closedAt: number | undefined;
  /** Until then no suspect begins. */
  let othersUntil: number | undefined;
  let timer: NodeJS.Timeout | undefined;

  function wakeAfter(ms: number, wake: () => void): void {
    clearTimeout(timer);
    timer = setTimeout(wake, ms);
    timer.unref();
  }

  function leaver(left: () => void): Leave {
    let inIt = true;
    return () => {
      if (inIt) left();
      inIt = false;
    };
  }

  function begun(): void {
    othersUntil ??= now() + headStartMs;
  }

  function comeIn(): Leave {
    inside += 1;
    return leaver(() => {
      inside -= 1;
      if (inside === 0 && turn && closedAt !== undefined && line.includes(turn)) beginAlone(turn);
    });
  }

  function nextTurn(): void {
    if (turn || line.length === 0) return;
    const waitMs = (othersUntil ?? 0) - now();
    if (waitMs > 0) {
      wakeAfter(waitMs, nextTurn);
      return;
    }
    const next = firstOf(line);
    turn = next;
    closedAt = now();
    if (inside === 0) beginAlone(next);
    else wakeAfter(leaveMs, () => beginAlone(next));
  }

  function beginAlone(suspect: Waiting): void {
    line.splice(line.indexOf(suspect), 1);
    wakeAfter(aloneMs, letOthersIn);
    suspect.begin();
  }

  function letOthersIn(): void {
    if (closedAt === undefined) return;
    othersUntil = now() + (now() - closedAt);
    closedAt = undefined;
    for (const letIn of outside) letIn();
    outside.clear();
  }

  function endTurn(): void {
    clearTimeout(timer);
    turn = undefined;
    letOthersIn();
    nextTurn();
  }

  return {
    tryEnter() {
      begun();
      return closedAt === undefined ? comeIn() : undefined;
    },

    enter(signal) {
      return new Promise((resolve, reject) => {
        const letIn = (): void => {
          signal.removeEventListener("abort", giveUp);
          resolve(comeIn());
        };
        const giveUp = (): void => {
          outside.delete(letIn);
          reject(signal.reason);
        };
        begun();
        if (signal.aborted) return reject(signal.reason);
        signal.addEventListener("abort", giveUp, { once: true });
        if (closedAt === undefined) letIn();
        else outside.add(letIn);
      });
    },

    enterAlone(suspect, signal) {
      return new Promise((resolve, reject) => {
        const waiting: Waiting = {
          ...suspect,
          begin() {
            signal.removeEventListener("abort", giveUp);
            resolve(leaver(endTurn));
          },
        };
        const giveUp = (): void => {
          line.splice(line.indexOf(waiting), 1);
          if (turn === waiting) endTurn();
          reject(signal.reason);
        };
        begun();
        if (signal.aborted) return reject(signal.reason);
        signal.addEventListener("abort", giveUp, { once: true });
        line.push(waiting);
        nextTurn();
      });
    },
  };
}

/** Whoever is in line longest, of those that are least suspicious. */
function firstOf(line: readonly Waiting[]): Waiting {
  const crowd = (suspect: Waiting): number => line.filter(({ share }) => share === suspect.share).length;
  return line.reduce((best, each) => {
    const order = each.failedTrials - best.failedTrials || crowd(each) - crowd(best);
    return order < 0 ? each : best;
  });
}

/** The same engine, for all that are no suspects. */
export function inCompany(engine: Engine, { tryEnter, enter }: Company): Engine {
  return {
    ...engine,
    async scan(bytes, signal, digest) {
      const leave = tryEnter() ?? (await enter(signal));
      try {
        return await engine.scan(bytes, signal, digest);
      } finally {
        leave();
      }
    },
  };
}
