import { randomUUID } from "node:crypto";
import { jobCard } from "../../model/job-card.ts";
import { type Lease, MAX_ATTEMPTS, POISON } from "../../queue/job-queue.ts";
import { burialMark, withChanges } from "./job-message.ts";
import type { JobItem } from "./job-state.ts";
import type { StoreParts } from "./job-store.ts";
import { type HeldLeases, sqsLease } from "./lease.ts";
import { MAX_DELAY_SECONDS, type ReceivedMessage } from "./message-queue.ts";
import { takeInRawMessage } from "./raw-jobs.ts";

/** A message, and when it was asked for: nobody else sees it for one lease from then on, at least. */
export interface HiddenMessage extends ReceivedMessage {
  askedAt: number;
}

/**
 * How much of a lease the clocks of two machines may be apart. SQS hands out a message only when its time is over, by its
 * own clock; the item may say so a little later.
 */
const CLOCK_TOLERANCE = 1 / 5;

/**
 * From a message to a lease, if the table agrees. Undefined when the message was something else: one of several of its
 * job, the last of a job that killed its workers, jobs of another producer, or nothing that can be read. It has been
 * seen to then. Throws `QueueUnavailable`; the message is as it was then.
 */
export async function claimMessage(
  message: HiddenMessage,
  { parts, leases }: { parts: StoreParts; leases: HeldLeases },
): Promise<Lease | undefined> {
  const { jobs, items, now, leaseSeconds } = parts;
  const messages = await parts.messages();
  const read = messages.read(message.body);
  if (!read) return takeInRawMessage(message, parts);
  const { key, job } = read;
  const hiddenUntil = message.askedAt + leaseSeconds * 1000;
  if (message.receives > MAX_ATTEMPTS) return buryPoison();

  const token = randomUUID();
  const claim = await items.claim({
    key,
    job,
    messageId: message.messageId,
    attempt: message.receives,
    token,
    until: hiddenUntil,
    dueBy: now() + leaseSeconds * 1000 * CLOCK_TOLERANCE,
  });
  if (claim.kind === "refused") return stepBack(claim.item);
  const { receipt, body } = message;
  const changes = messages.openChanges(key.id, claim.item.changes);
  const held = { key, token, base: job, body, changes, receipt, hiddenUntil };
  return sqsLease(held, message.receives, { parts, messages, leases });

  /** Queues whose redrive policy allows more receives than we do leave it to us. */
  async function buryPoison(): Promise<undefined> {
    const at = now();
    const letter = { submittedAt: job.submittedAt, card: jobCard(job), reason: POISON, at, now: at };
    if (await items.buryUnheld(key, letter)) await parts.waiting.remove(key, job);
    const item = await items.get(key);
    return item && stepBack(item);
  }

  /** Not now: the job is done or buried, somebody has it, or it waits for its time. */
  async function stepBack(item: JobItem): Promise<undefined> {
    if (item.buriedAt !== undefined) return fileDeadLetter(item, item.buriedAt);
    // Of two messages of one job that of the lease is enough: it stays until the job is settled.
    const second = item.token !== undefined && item.messageId !== message.messageId;
    if (item.done || second) return jobs.remove(message.receipt).then(() => undefined);
    const ours = leases.byToken(item.token);
    if (ours) {
      ours.receipt = message.receipt;
      ours.hiddenUntil = hiddenUntil;
      return undefined;
    }
    const leftSeconds = Math.max(1, Math.ceil(((item.dueAt ?? 0) - now()) / 1000));
    if (item.token !== undefined) {
      await jobs.hide(message.receipt, Math.min(leftSeconds, leaseSeconds));
      return undefined;
    }
    // Anew, because each receive of the same message counts as an attempt.
    const delaySeconds = Math.min(leftSeconds, MAX_DELAY_SECONDS);
    await jobs.send({ body: message.body, delaySeconds, group: messages.groupOf(job) });
    await jobs.remove(message.receipt);
    return undefined;
  }

  /** Whoever buried it may have died before it had sent the letter. One too many does no harm. */
  async function fileDeadLetter({ reason = POISON, changes }: JobItem, at: number): Promise<undefined> {
    const body = messages.writeOr(message.body, key.added, withChanges(job, messages.openChanges(key.id, changes)));
    await parts.deadLetters.send({ body, mark: burialMark({ ...key, at, reason }) });
    await jobs.remove(message.receipt);
    return undefined;
  }
}
