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
  /** Quoted, before every name: nothing is kept on a connection, no search path either. */
  schema: string;
}

export const RESULT_MS: number = RESULT_RETENTION_HOURS * 3600 * 1000;
