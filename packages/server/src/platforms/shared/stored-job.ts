import { type Job, nobodysAccount, noFailures, shareOf } from "../../model/job.ts";

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

const NOTHING_FAILED = "{}";
const counted = Object.keys(noFailures) as (keyof typeof noFailures)[];
const inColumns = Object.fromEntries(["id", "submittedAt", ...counted].map((name) => [name, undefined]));

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
  if (counted.every((name) => job[name] === 0)) return NOTHING_FAILED;
  return JSON.stringify(Object.fromEntries(counted.map((name) => [name, job[name]])));
}

export function jobOf(id: string, { content, submittedAt, counts }: Omit<StoredJob, "share">): Job {
  const failures = counts === NOTHING_FAILED ? noFailures : { ...noFailures, ...JSON.parse(counts) };
  return { ...nobodysAccount, ...JSON.parse(content), id, submittedAt, ...failures };
}
