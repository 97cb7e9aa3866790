import type { Job } from "../../../model/job.ts";
import type { StoreParts } from "./store-parts.ts";

/**
 * Item and expectation first, then the message: whoever receives it finds both. Resolves when the queue has it. Throws
 * `QueueUnavailable`, and takes back what it can then.
 */
export async function addJob(job: Job, added: string, parts: StoreParts): Promise<void> {
  const { items, jobs, alarm, now } = parts;
  const { id: jobId, traceId, submittedAt } = job;
  const key = { id: job.id, added };
  const body = (await parts.messages()).write(added, job);
  const expectation = traceId === undefined ? undefined : parts.expectations.expect({ traceId, jobId, submittedAt });
  try {
    const written = await Promise.allSettled([expectation?.written, items.add(key, job, now())]);
    for (const each of written) if (each.status === "rejected") throw each.reason;
    await jobs.send({ body });
  } catch (error) {
    await Promise.allSettled([items.unadd(key), expectation?.undo()]);
    throw error;
  }
  alarm.ring();
}
