import type { JobCard } from "../model/job-card.ts";
import type { Life } from "../model/life.ts";
import type { Trace } from "../model/tenant.ts";
import type { Page } from "./job-queue.ts";

/**
 * Jobs that are done, as people may see them, until their results expire (`LAZARET_HISTORY_HOURS`), and no more than `LAZARET_HISTORY_MOST`, of
 * which the oldest go. Written by the queue when a lease is settled as done: with the same commit where the platform has one for both; a
 * platform that has not may lose this in a crash, never the job. Each adapter passes test/contracts/job-history.ts. All of it throws
 * `QueueUnavailable`.
 */
export interface JobHistory {
  /**
   * Newest first, by id: ids are in the order of submission. Opens 5,000 at most, in search of those that are wanted: a page may be short, or
   * empty, and yet have a next. What cannot be read any more is left out. Undefined for a place that is none of ours.
   */
  list(query: HistoryQuery): Promise<Page<FinishedJob> | undefined>;
  /** Undefined when there is none of that id, or none any more. */
  show(id: string): Promise<FinishedJob | undefined>;
  /** Ids of the finished jobs of a trace id, newest first, at most 100. */
  ofTrace(trace: Trace): Promise<string[]>;
  /** How many are kept, as far as that is known without reading them all. */
  count(): Promise<number>;
}

export interface FinishedJob {
  id: string;
  submittedAt: number;
  finishedAt: number;
  attempts: number;
  job: JobCard;
  life: Life;
}

export interface HistoryQuery {
  limit: number;
  /** `next` of the page before. */
  after?: string;
  /** When they were submitted: from then on, and until before then. */
  since?: number;
  until?: number;
  tenant?: string;
  verdict?: "clean" | "infected" | "no";
  /** In trace id, bucket/key or link; whatever the case. */
  text?: string;
}
