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
  const { id: _, submittedAt, ...rest } = job;
  const {
    failedDownloads,
    failedScans,
    failedActions,
    failedCallbacks,
    failedRuns,
    failedTrials,
    lostLeases,
    ...content
  } = rest;
  const counts = {
    failedDownloads,
    failedScans,
    failedActions,
    failedCallbacks,
    failedRuns,
    failedTrials,
    lostLeases,
  } satisfies typeof noFailures;
  return { submittedAt, share: shareOf(job), counts: JSON.stringify(counts), content: JSON.stringify(content) };
}

export function jobOf(id: string, { content, submittedAt, counts }: Omit<StoredJob, "share">): Job {
  return { ...JSON.parse(content), id, submittedAt, ...noFailures, ...JSON.parse(counts) };
}
