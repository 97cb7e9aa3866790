import type { Job } from "../../model/job.ts";

/** A job on its way to and from the database: what is ours as columns, all that a client sent as one text to seal. */
export interface StoredJob {
  submittedAt: number;
  /** JSON of what failed so far; nothing in it counts as zero. */
  counts: string;
  /** JSON, which writes lone surrogates as escapes: custom data comes back unchanged. */
  content: string;
}

const noCounts = { failedDownloads: 0, failedScans: 0, failedActions: 0, failedCallbacks: 0 } satisfies Partial<Job>;

export function storedJob(job: Job): StoredJob {
  const { id: _, submittedAt, failedDownloads, failedScans, failedActions, failedCallbacks, ...content } = job;
  const counts = { failedDownloads, failedScans, failedActions, failedCallbacks } satisfies typeof noCounts;
  return { submittedAt, counts: JSON.stringify(counts), content: JSON.stringify(content) };
}

export function jobOf(id: string, { content, submittedAt, counts }: StoredJob): Job {
  return { ...JSON.parse(content), id, submittedAt, ...noCounts, ...JSON.parse(counts) };
}
