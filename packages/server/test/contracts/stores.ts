import type { ResultStore } from "../../src/deliver/result-store.ts";
import type { DeadLetters, JobBrowser, JobQueue } from "../../src/queue/job-queue.ts";

/** What a platform brings to its contract suites: the ports on one empty storage. */
export interface Stores extends AsyncDisposable {
  queue: JobQueue;
  results: ResultStore;
  deadLetters: DeadLetters;
  browser: JobBrowser;
  /** How long leases of this queue last; a platform that cannot be told the time may have short ones. */
  leaseSeconds: number;
  /** Lets time pass: by a told clock, or by waiting where time belongs to a service. */
  advance(seconds: number): Promise<void>;
  /** The same storage seen by another process. This one closed nothing, as if it was killed or stands still. */
  another(): Promise<Stores>;
}

export interface Platform {
  name: string;
  make(): Promise<Stores>;
  /** Jobs due longest are taken first. */
  ordered: boolean;
  /** The clock is told, so that it can be set back: `advance` takes negative numbers. */
  toldClock: boolean;
}
