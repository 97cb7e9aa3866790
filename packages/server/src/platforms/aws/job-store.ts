import type { Alarm } from "../../flow/alarm.ts";
import { type Job, traceOf } from "../../model/job.ts";
import type { ItemBrowser } from "./job-browser.ts";
import type { HistoryWriter } from "./job-history.ts";
import type { JobItems } from "./job-items.ts";
import type { JobMessages } from "./job-message.ts";
import type { MessageQueue } from "./message-queue.ts";
import type { RawChecks } from "./raw-messages.ts";
import type { Expectations } from "./results.ts";
import type { WaitingJobs } from "./waiting-jobs.ts";

/** What the adapters on queue and table are made of. */
export interface StoreParts {
  jobs: MessageQueue;
  deadLetters: MessageQueue;
  items: JobItems;
  waiting: WaitingJobs;
  /** Throws `QueueUnavailable` while the key that seals them cannot be had. */
  messages(): Promise<JobMessages>;
  browser: ItemBrowser;
  expectations: Expectations;
  history: HistoryWriter;
  alarm: Alarm;
  /** What to write into `added` of the next job. */
  nextAdded(): string;
  /** What messages of other producers have to pass. */
  checks: RawChecks;
  leaseSeconds: number;
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Item and expectation first, then the message: whoever receives it finds both. Resolves when the queue has it. Throws
 * `QueueUnavailable`, and takes back what it can then.
 */
export async function addJob(job: Job, added: string, parts: StoreParts): Promise<void> {
  const { items, jobs, alarm, now } = parts;
  const { id: jobId, submittedAt } = job;
  const trace = traceOf(job);
  const key = { id: job.id, added };
  const messages = await parts.messages();
  const body = messages.write(added, job);
  const expectation = trace && parts.expectations.expect({ ...trace, jobId, submittedAt });
  try {
    const written = await Promise.allSettled([expectation?.written, items.add(key, job, now())]);
    for (const each of written) if (each.status === "rejected") throw each.reason;
    await jobs.send({ body, group: messages.groupOf(job) });
  } catch (error) {
    await Promise.allSettled([items.unadd(key), expectation?.undo()]);
    throw error;
  }
  alarm.ring();
  await parts.waiting.add(key, job);
}
