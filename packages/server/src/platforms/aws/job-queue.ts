import { firstOf } from "../../flow/time-limit.ts";
import type { JobQueue, Lease, QueueCounts } from "../../queue/job-queue.ts";
import { claimMessage, type HiddenMessage } from "./claim-message.ts";
import { addJob, type StoreParts } from "./job-store.ts";
import { heldLeases } from "./lease.ts";
import { LARGEST_BATCH, type ReceivedMessage } from "./message-queue.ts";

export interface SqsQueue extends JobQueue {
  /** Gives back what was received and not taken. */
  close(): Promise<void>;
}

/** Messages that turn out to be no lease are made up for, so often. */
const ROUNDS = 3;
/**
 * A process that dies between item and message leaves an item of a job that was not acknowledged. SQS may be a minute behind with its
 * counts; an item that is taken away too early comes back with its message.
 */
const UNSENT_MS = 15 * 60_000;
const LOOK_FOR_UNSENT_MS = 60_000;
/** Asked for only to hear whether the table answers. */
const NOBODY = { id: "", added: "" };

/**
 * Jobs in SQS and in a table of DynamoDB. Messages carry the jobs and wake a worker; the table says what
 * is the case: who has the lease, and what was achieved so far.
 *
 *   add      item ─▶ message
 *   take     message ─▶ item claimed with a random token
 *   settle   item, on condition of the token ─▶ queues
 */
export function sqsQueue(parts: StoreParts): SqsQueue {
  const { jobs, deadLetters, items, browser, now } = parts;
  const leases = heldLeases(now);
  const buffer = messageBuffer(parts);
  let claimsFail = false;
  let lookedForUnsentAt = Number.NEGATIVE_INFINITY;
  let counting: Promise<QueueCounts> | undefined;

  async function claimAll(messages: readonly HiddenMessage[]): Promise<Lease[]> {
    const claims = await Promise.allSettled(messages.map((message) => claimMessage(message, { parts, leases })));
    const failed = claims.flatMap((claim, index) =>
      claim.status === "rejected"
        ? [{ message: messages[index] as HiddenMessage, error: claim.reason as unknown }]
        : [],
    );
    claimsFail = failed.length > 0;
    // Each receive counts as an attempt: these are not received again as long as they are ours.
    buffer.putBack(failed.map(({ message }) => message));
    const taken = claims.flatMap((claim) => (claim.status === "fulfilled" && claim.value ? [claim.value] : []));
    if (taken.length === 0 && failed[0]) throw failed[0].error;
    return taken;
  }

  /**
   * Of an empty queue. Else they would be shown for as long as items are kept, and as the job that waits longest. On the side of a take,
   * because workers take all the time, and others may not delete items; what fails is done another time.
   */
  async function forgetUnsent(): Promise<void> {
    if (now() - lookedForUnsentAt < LOOK_FOR_UNSENT_MS) return;
    lookedForUnsentAt = now();
    const { visible, hidden, delayed } = await jobs.depth();
    if (visible + hidden + delayed > 0) return;
    const keys = await browser.untaken(now() - UNSENT_MS);
    await Promise.all(keys.map(items.unadd));
  }

  async function count(): Promise<QueueCounts> {
    const [waiting, dead] = await Promise.all([jobs.depth(), deadLetters.depth()]);
    const oldest = waiting.visible > 0 ? await browser.oldestDueAt(now()) : undefined;
    return {
      ready: waiting.visible,
      delayed: waiting.delayed,
      leased: waiting.hidden,
      buried: dead.visible + dead.hidden + dead.delayed,
      oldestSeconds: oldest === undefined ? 0 : Math.max(0, now() - oldest) / 1000,
    };
  }

  return {
    add: (job) => addJob(job, parts.nextAdded(), parts),

    async take(limit) {
      // Throws while the table cannot be asked, before more messages are received in vain.
      if (claimsFail && buffer.size === 0) {
        await items.get(NOBODY);
        claimsFail = false;
      }
      const taken: Lease[] = [];
      for (let round = 0; round < ROUNDS && taken.length < limit; round += 1) {
        const wanted = limit - taken.length;
        const messages = claimsFail ? buffer.buffered(wanted) : await buffer.next(wanted);
        if (messages.length === 0) break;
        const some = await claimAll(messages).catch((error: unknown) => {
          if (taken.length === 0) throw error;
          return [];
        });
        taken.push(...some);
        if (some.length === messages.length || claimsFail) break;
      }
      if (taken.length === 0) await forgetUnsent().catch(() => {});
      return taken;
    },

    wait: (signal) => buffer.wait(signal),

    /** As SQS counts them, which may be a minute behind. Metrics ask for each number by itself. */
    async counts() {
      counting ??= count().finally(() => {
        counting = undefined;
      });
      return { ...(await counting) };
    },

    unfinished: parts.waiting.count,

    close: buffer.close,
  };
}

/**
 * Messages that were received and not claimed yet: by somebody who waited, or in vain, because the table could not be
 * asked. They are the first to be claimed next.
 */
interface MessageBuffer {
  /** At most `limit`. Waits for none, except for one that is on its way to us already. */
  next(limit: number): Promise<HiddenMessage[]>;
  /** The same of what is here, without asking for more. */
  buffered(limit: number): HiddenMessage[];
  /** Resolves when a message may be there, as the queue's `wait` does. */
  wait(signal: AbortSignal): Promise<void>;
  /** For messages that could not be claimed now. */
  putBack(messages: readonly HiddenMessage[]): void;
  readonly size: number;
  /** Gives back what is there. */
  close(): Promise<void>;
}

/** So that others are waited for as well: jobs that this process adds, and its end. */
const POLL_SECONDS = 1;
const PAUSE_MS = 1000;
/** A message that lay there for longer than this part of its time is left to others. */
const FRESH = 1 / 2;

function messageBuffer({ jobs, alarm, leaseSeconds, now }: StoreParts): MessageBuffer {
  let waiting: HiddenMessage[] = [];
  let poll: Promise<"asked" | "failed"> | undefined;
  let closed = false;

  async function receive(limit: number, waitSeconds: number): Promise<HiddenMessage[]> {
    const askedAt = now();
    const messages = await jobs.receive({ limit, hiddenSeconds: leaseSeconds, waitSeconds });
    return messages.map((message: ReceivedMessage) => ({ ...message, askedAt }));
  }

  function buffered(limit: number): HiddenMessage[] {
    const freshSince = now() - leaseSeconds * 1000 * FRESH;
    waiting = waiting.filter(({ askedAt }) => askedAt >= freshSince);
    return waiting.splice(0, limit);
  }

  /**
   * One message, so that nothing lies here while all are busy. Never broken off: a message that is on its way then would
   * be lost to everybody for a whole lease.
   */
  async function longPoll(): Promise<"asked" | "failed"> {
    try {
      const messages = await receive(1, POLL_SECONDS);
      waiting.push(...messages);
      return "asked";
    } catch {
      return "failed";
    } finally {
      poll = undefined;
    }
  }

  return {
    get size() {
      return waiting.length;
    },

    buffered,

    async next(limit) {
      const messages = buffered(limit);
      while (messages.length < limit) {
        const wanted = Math.min(limit - messages.length, LARGEST_BATCH);
        const some = await receive(wanted, 0).catch((error: unknown) => {
          if (messages.length === 0) throw error;
          return [];
        });
        messages.push(...some);
        if (some.length < wanted) break;
      }
      if (messages.length > 0) return messages;
      // Whoever waited may have got it instead of us, just now.
      await poll;
      return buffered(limit);
    },

    async wait(signal) {
      if (signal.aborted || waiting.length > 0 || closed) return;
      poll ??= longPoll();
      const over = new AbortController();
      using either = firstOf([signal, over.signal]);
      const asked = poll.then(async (outcome) => {
        // Who cannot ask waits all the same, and then hears from `take` what is wrong.
        if (outcome === "failed") await alarm.sleep(PAUSE_MS, either.signal);
      });
      const woken = alarm.sleep(2 * POLL_SECONDS * 1000, either.signal);
      await Promise.race([asked, woken]);
      over.abort();
    },

    putBack: (messages) => void waiting.unshift(...messages),

    async close() {
      closed = true;
      await poll;
      // Else they come back by themselves, when their time is over.
      await Promise.allSettled(waiting.map(({ receipt }) => jobs.hide(receipt, 0)));
      waiting = [];
    },
  };
}
