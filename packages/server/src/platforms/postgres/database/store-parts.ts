import { RESULT_RETENTION_HOURS } from "@lazaret/contract";
import type { Sealer } from "../../shared/sealed.ts";
import type { Connections } from "./connections.ts";
import type { WakeUps } from "./wake-ups.ts";
import type { WriteLane } from "./write-lane.ts";

/** What the adapters on the database are made of. */
export interface StoreParts {
  connections: Connections;
  lane: WriteLane;
  wakeUps: WakeUps;
  sealer: Sealer;
  times: ToldTimes;
  /** Quoted, before every name: nothing is kept on a connection, no search path either. */
  schema: string;
}

export const RESULT_MS: number = RESULT_RETENTION_HOURS * 3600 * 1000;

/** What the database has told this process about the time. */
export interface ToldTimes {
  /** The newest: a clock that is behind it was set back. */
  latest: number;
  /** Something was written that may be due before what we take for the first: by a clock that had been set back, or redriven. */
  wroteBack: boolean;
}

export function toldTimes(): ToldTimes {
  return { latest: Number.POSITIVE_INFINITY, wroteBack: false };
}

export function heardAtWrite(times: ToldTimes, now: number): void {
  if (now < times.latest) times.wroteBack = true;
  times.latest = Math.max(times.latest, now);
}
