import { setTimeout as pause } from "node:timers/promises";
import type { Retention } from "../shared/retention.ts";
import type { StoreParts } from "./sqlite/job-database.ts";

/** Keeps the database small in the background: what is over leaves, and its room is given back. */
export interface Upkeep {
  /** For who works on the database all the time: begins, unless it goes on already or has just been done. */
  begin(): void;
  /** All of it, now. */
  sweep(): Promise<void>;
  stop(): void;
}

const EVERY_MS = 1000;
/** Between two slices, so that four fifths of the time are for others. */
const PAUSE_MS = 40;

export function sqliteUpkeep({ database, now }: Omit<StoreParts, "alarm">, kept: Retention): Upkeep {
  const stopping = new AbortController();
  let nextAt = 0;

  async function run(): Promise<void> {
    while (await database.run("upkeep", { now: now(), kept })) {
      await pause(PAUSE_MS, undefined, { signal: stopping.signal, ref: false });
    }
  }

  return {
    begin() {
      if (performance.now() < nextAt) return;
      nextAt = Number.POSITIVE_INFINITY;
      const ended = (): void => {
        nextAt = performance.now() + EVERY_MS;
      };
      // What is wrong with the database is heard by those who need it; here the next try is soon enough.
      run().then(ended, ended);
    },
    sweep: run,
    stop: () => stopping.abort(),
  };
}
