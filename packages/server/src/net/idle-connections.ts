import type { Connection } from "./exchange.ts";

/** Connections that carry nothing now, for the next request to their origin: the newest first, a bounded number. */
export interface IdleConnections<Kept extends KeptConnection> {
  /** The newest that still stands. It is the caller's from then on. */
  take(origin: string): Kept | undefined;
  /** Keeps it for the next; the oldest goes when there are too many. */
  keep(kept: Kept): void;
  /** Whether it was one of them. */
  forget(kept: Kept): boolean;
  /** Drops them all. */
  close(): Promise<void>;
}

export interface KeptConnection {
  readonly origin: string;
  readonly connection: Connection;
}

export interface IdleOptions<Kept extends KeptConnection> {
  perOrigin: number;
  inAll: number;
  /** Called for one that is not among them any more. */
  drop(kept: Kept): Promise<void>;
}

export function idleConnections<Kept extends KeptConnection>(options: IdleOptions<Kept>): IdleConnections<Kept> {
  const { perOrigin, inAll, drop } = options;
  /** Both oldest first. */
  const byOrigin = new Map<string, Kept[]>();
  const all = new Set<Kept>();

  function forget(kept: Kept): boolean {
    if (!all.delete(kept)) return false;
    const line = byOrigin.get(kept.origin) ?? [];
    line.splice(line.indexOf(kept), 1);
    if (line.length === 0) byOrigin.delete(kept.origin);
    return true;
  }

  async function leave(kept: Kept | undefined): Promise<void> {
    if (kept && forget(kept)) await drop(kept);
  }

  return {
    take(origin) {
      for (;;) {
        const newest = byOrigin.get(origin)?.at(-1);
        if (!newest) return undefined;
        if (!newest.connection.connected) {
          void leave(newest);
          continue;
        }
        forget(newest);
        return newest;
      }
    },
    keep(kept) {
      const line = byOrigin.get(kept.origin) ?? [];
      byOrigin.set(kept.origin, line);
      line.push(kept);
      all.add(kept);
      if (line.length > perOrigin) void leave(line[0]);
      if (all.size > inAll) void leave(all.values().next().value);
    },
    forget,
    async close() {
      await Promise.all([...all].map(leave));
    },
  };
}
