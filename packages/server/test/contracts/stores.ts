import type { Platform as PlatformPorts } from "../../src/platforms/platform.ts";
import type { Retention } from "../../src/platforms/shared/retention.ts";

/** What a platform brings to its contract suites: the ports on one empty storage. */
export interface Stores extends AsyncDisposable, Pick<PlatformPorts, StoredPorts> {
  /** How long leases of this queue last; a platform that cannot be told the time may have short ones. */
  leaseSeconds: number;
  /** Milliseconds since 1970, as the platform was told. */
  now(): number;
  /** Lets time pass: by a told clock, or by waiting where time belongs to a service. */
  advance(seconds: number): Promise<void>;
  /** The same storage seen by another process. This one closed nothing, as if it was killed or stands still. */
  another(): Promise<Stores>;
  /** The same storage while nothing can be written to it. */
  unwritable(): Promise<Stores>;
  /** Lets the platform delete what is over or too many, as it does in its time; nothing where that is a service's business. */
  sweep(): Promise<void>;
  /** Changes every byte that is kept of finished jobs and findings, as a disk may, or a lost key. */
  damageKept(): Promise<void>;
}

type StoredPorts =
  | "queue"
  | "results"
  | "deadLetters"
  | "browser"
  | "usage"
  | "callbackFailures"
  | "access"
  | "audit"
  | "history"
  | "findings"
  | "sharedCounts";

export interface Platform {
  name: string;
  make(kept?: Partial<Retention>): Promise<Stores>;
  /** Jobs due longest are taken first. */
  ordered: boolean;
  /** The clock is told, so that it can be set back: `advance` takes negative numbers. */
  toldClock: boolean;
  /** False where what is kept is only limited by its time. */
  keepsMost?: boolean;
}
