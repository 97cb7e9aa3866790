import type { Alarm } from "../../../../flow/alarm.ts";
import type { HiddenMessage } from "../../claim-message.ts";
import { LARGEST_BATCH, type MessageQueue, type ReceivedMessage } from "../../message-queue.ts";

/**
 * Messages that were received and not claimed yet: by somebody who waited, or in vain, because the table could not be
 * asked. They are the first to be claimed next.
 */
export interface MessageShelf {
  /** At most `limit`. Waits for none, except for one that is on its way to us already. */
  next(limit: number): Promise<HiddenMessage[]>;
  /** The same of what is here, without asking for more. */
  shelved(limit: number): HiddenMessage[];
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

interface ShelfParts {
  jobs: MessageQueue;
  alarm: Alarm;
  leaseSeconds: number;
  now(): number;
}

export function messageShelf({ jobs, alarm, leaseSeconds, now }: ShelfParts): MessageShelf {
  let shelf: HiddenMessage[] = [];
  let poll: Promise<"asked" | "failed"> | undefined;
  let closed = false;

  async function receive(limit: number, waitSeconds: number): Promise<HiddenMessage[]> {
    const askedAt = now();
    const messages = await jobs.receive({ limit, hiddenSeconds: leaseSeconds, waitSeconds });
    return messages.map((message: ReceivedMessage) => ({ ...message, askedAt }));
  }

  function shelved(limit: number): HiddenMessage[] {
    const freshSince = now() - leaseSeconds * 1000 * FRESH;
    shelf = shelf.filter(({ askedAt }) => askedAt >= freshSince);
    return shelf.splice(0, limit);
  }

  /**
   * One message, so that nothing lies here while all are busy. Never broken off: a message that is on its way then would
   * be lost to everybody for a whole lease.
   */
  async function longPoll(): Promise<"asked" | "failed"> {
    try {
      const messages = await receive(1, POLL_SECONDS);
      shelf.push(...messages);
      return "asked";
    } catch {
      return "failed";
    } finally {
      poll = undefined;
    }
  }

  return {
    get size() {
      return shelf.length;
    },

    shelved,

    async next(limit) {
      const messages = shelved(limit);
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
      return shelved(limit);
    },

    async wait(signal) {
      if (signal.aborted || shelf.length > 0 || closed) return;
      poll ??= longPoll();
      const over = new AbortController();
      const asked = poll.then(async (outcome) => {
        // Who cannot ask waits all the same, and then hears from `take` what is wrong.
        if (outcome === "failed") await alarm.sleep(PAUSE_MS, AbortSignal.any([signal, over.signal]));
      });
      const woken = alarm.sleep(2 * POLL_SECONDS * 1000, AbortSignal.any([signal, over.signal]));
      await Promise.race([asked, woken]);
      over.abort();
    },

    putBack: (messages) => void shelf.unshift(...messages),

    async close() {
      closed = true;
      await poll;
      // Else they come back by themselves, when their time is over.
      await Promise.allSettled(shelf.map(({ receipt }) => jobs.hide(receipt, 0)));
      shelf = [];
    },
  };
}
