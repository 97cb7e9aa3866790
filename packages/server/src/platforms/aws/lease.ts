import type { Job } from "../../model/job.ts";
import type { Settlement } from "../../model/settlement.ts";
import type { Lease } from "../../queue/job-queue.ts";
import type { Progress } from "./job-items.ts";
import { burialMark, changesTo, type JobChanges, type JobMessages, withChanges } from "./job-message.ts";
import type { JobKey } from "./job-state.ts";
import type { StoreParts } from "./job-store.ts";
import { MAX_DELAY_SECONDS } from "./message-queue.ts";

/**
 * Each write goes to the table first, on condition that the lease is still ours; what follows in the queues can be lost
 * by a crash without losing the job:
 *
 *   done    item deleted ─▶ message deleted              else: the message comes back and the job runs once more
 *                        ─▶ history                      else: nobody can look at it any more
 *   again   item put back ─▶ new message ─▶ old deleted  else: the old message comes back, and finds the item put back
 *   buried  item buried ─▶ dead letter ─▶ old deleted    else: the old message comes back, and the letter is sent then
 */
export function sqsLease(
  held: HeldLease,
  attempt: number,
  { parts, messages, leases }: { parts: StoreParts; messages: JobMessages; leases: HeldLeases },
): Lease {
  const { jobs, deadLetters, items, waiting, alarm, now, leaseSeconds } = parts;
  let over = false;
  leases.add(held);

  function changesOf(job: Job): JobChanges {
    return changesTo(held.base, job, held.changes);
  }

  function progressTo(job: Job): Progress {
    return { job, changes: messages.sealChanges(held.key.id, changesOf(job)) };
  }

  /** With what was achieved, and without what is not needed any more. */
  function bodyOf(job: Job): string {
    return messages.writeOr(held.body, held.key.added, job);
  }

  /** Settled or lost: nothing more can be written. */
  function end(): void {
    over = true;
    leases.remove(held);
  }

  /** What has been settled stays so, whether or not the message goes. */
  function removeMessage(): Promise<boolean> {
    return succeeds(jobs.remove(held.receipt));
  }

  async function finish(job: Job | undefined): Promise<boolean> {
    const note = held.hiddenUntil <= now();
    if (await items.finish(held, { note, now: now() })) {
      // What people may look at later is worth no second run.
      const kept = job && succeeds(parts.history.keep(job, attempt));
      const [removed] = await Promise.all([removeMessage(), waiting.remove(held.key, held.base), kept]);
      if (!removed && !note) await succeeds(items.noteDone(held.key, now()));
      return true;
    }
    // When somebody else was faster the message is in nobody's way any more.
    const item = await items.get(held.key);
    if (item === undefined || item.done) await removeMessage();
    return false;
  }

  async function putBack(job: Job, afterSeconds: number): Promise<boolean> {
    const progress = progressTo(job);
    const dueAt = now() + Math.round(afterSeconds * 1000);
    if (!(await items.putBack(held, { ...progress, dueAt, now: now() }))) return false;
    await succeeds(parts.expectations.prolong(job));
    const delaySeconds = Math.min(Math.ceil(afterSeconds), MAX_DELAY_SECONDS);
    const group = messages.groupOf(job);
    if (await succeeds(jobs.send({ body: bodyOf(job), delaySeconds, group }))) await removeMessage();
    alarm.ring();
    return true;
  }

  async function bury(job: Job, reason: string): Promise<boolean> {
    const at = now();
    if (!(await items.bury(held, { ...progressTo(job), reason, now: at }))) return false;
    const letter = { body: bodyOf(job), mark: burialMark({ ...held.key, at, reason }) };
    await Promise.all([deadLetters.send(letter), waiting.remove(held.key, held.base)]);
    await removeMessage();
    return true;
  }

  function settled(settlement: Settlement): Promise<boolean> {
    if (settlement.kind === "done") return finish(settlement.job);
    if (settlement.kind === "again") return putBack(settlement.job, settlement.afterSeconds);
    return bury(settlement.job, settlement.reason);
  }

  const lease: Lease = {
    job: withChanges(held.base, held.changes),
    attempt,

    async extend() {
      if (over) return false;
      // By the time before the message is hidden: whoever receives it when that is over must find the lease over too.
      const until = now() + leaseSeconds * 1000;
      if (!(await items.extend(held, until))) {
        end();
        return false;
      }
      // Where the message is visible by now the item alone keeps others out.
      held.hiddenUntil = (await jobs.hide(held.receipt, leaseSeconds)) ? until : 0;
      return true;
    },

    async save(job) {
      if (over) return false;
      const changes = changesOf(job);
      if (await items.save(held, progressTo(job))) {
        held.changes = changes;
        return true;
      }
      end();
      return false;
    },

    async settle(settlement) {
      if (over) return false;
      const ours = await settled(settlement);
      end();
      return ours;
    },
  };
  return lease;
}

function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** A lease of this process. */
export interface HeldLease {
  key: JobKey;
  token: string;
  /** The job as its message has it. */
  base: Job;
  /** That message. */
  body: string;
  changes: JobChanges | undefined;
  /** The newest receipt of the message. */
  receipt: string;
  /** So long the message is hidden from others, and the receipt good for something. */
  hiddenUntil: number;
}

/**
 * The leases of this process. One that was paused for longer than a lease finds its message visible again, and may be the
 * very one that receives it next: the lease then goes on with the new receipt.
 */
export interface HeldLeases {
  add(lease: HeldLease): void;
  remove(lease: HeldLease): void;
  byToken(token: string | undefined): HeldLease | undefined;
}

/** What was over for so long is not waited for any more: its settlement failed, and somebody else has it by now. */
const REMEMBERED_MS = 600_000;

export function heldLeases(now: () => number): HeldLeases {
  const held = new Map<string, HeldLease>();
  let swept = now();

  function sweep(): void {
    if (now() - swept < REMEMBERED_MS) return;
    swept = now();
    for (const [token, { hiddenUntil }] of held) if (hiddenUntil < swept - REMEMBERED_MS) held.delete(token);
  }

  return {
    add(lease) {
      sweep();
      held.set(lease.token, lease);
    },
    remove: ({ token }) => void held.delete(token),
    byToken: (token = "") => held.get(token),
  };
}
