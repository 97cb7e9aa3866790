/**
 * Lets a bounded number of callers through to each origin at once. The others of that origin wait, first come first
 * served, and those of other origins know nothing of them. Whoever entered must leave, however the work ended.
 */
export interface OriginLine {
  /** Resolves with the way out. Throws `signal.reason` when the wait is given up. */
  enter(origin: string, signal: AbortSignal): Promise<() => void>;
  /** How many wait for this origin. */
  waiting(origin: string): number;
}

interface Line {
  inside: number;
  waiting: Set<() => void>;
}

export function originLine(perOrigin: number): OriginLine {
  const lines = new Map<string, Line>();

  function lineOf(origin: string): Line {
    const line = lines.get(origin) ?? { inside: 0, waiting: new Set() };
    lines.set(origin, line);
    return line;
  }

  /** The place is handed to the next in line, so nobody can slip in between. */
  function wayOut(origin: string, line: Line): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const [next] = line.waiting;
      if (next) return next();
      line.inside -= 1;
      if (line.inside === 0) lines.delete(origin);
    };
  }

  return {
    async enter(origin, signal) {
      signal.throwIfAborted();
      const line = lineOf(origin);
      if (line.inside < perOrigin) {
        line.inside += 1;
        return wayOut(origin, line);
      }
      return new Promise((resolve, reject) => {
        const admit = (): void => {
          line.waiting.delete(admit);
          signal.removeEventListener("abort", giveUp);
          resolve(wayOut(origin, line));
        };
        const giveUp = (): void => {
          line.waiting.delete(admit);
          reject(signal.reason);
        };
        line.waiting.add(admit);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
    waiting: (origin) => lines.get(origin)?.waiting.size ?? 0,
  };
}
