import { type Job, noFailures, shareOf } from "../../model/job.ts";

/** A job on its way to and from the database: what is ours as columns, all that a client sent as one text to seal. */
export interface StoredJob {
  submittedAt: number;
  /** Whose it is; kept as a digest. */
  share: string;
  /** JSON of what failed so far; nothing in it counts as zero. */
  counts: string;
  /** JSON, which writes lone surrogates as escapes: custom data comes back unchanged. */
  content: string;
}

export function storedJob(job: Job): StoredJob {
  // What is undefined is not in the JSON, and costs less than leaving it out.
  const content = { ...job, ...inColumns };
  return {
    submittedAt: job.submittedAt,
    share: shareOf(job),
    counts: countsOf(job),
    content: JSON.stringify(content),
  };
}

/** Most jobs have failed at nothing. */
function countsOf(job: Job): string {
  const { failedDownloads, failedScans, failedActions, failedCallbacks, failedRuns, failedTrials } = job;
  const counts = { failedDownloads, failedScans, failedActions, failedCallbacks, failedRuns, failedTrials };
  if (Object.values(counts).every((count) => count === 0)) return "{}";
  return JSON.stringify(counts satisfies typeof noFailures);
}

const inColumns: Record<keyof typeof noFailures | "id" | "submittedAt", undefined> = {
  id: undefined,
  submittedAt: undefined,
  failedDownloads: undefined,
  failedScans: undefined,
  failedActions: undefined,
  failedCallbacks: undefined,
  failedRuns: undefined,
  failedTrials: undefined,
};

export function jobOf(id: string, { content, submittedAt, counts }: Omit<StoredJob, "share">): Job {
  return { ...JSON.parse(content), id, submittedAt, ...noFailures, ...JSON.parse(counts) };
}
