import {
  type LeaseEnd,
  OUTBOX_LEASE_SECONDS,
  type Outbox,
  type OutboxLease,
  type OutboxLimits,
  outboxLimits,
} from "../shared/messages/outbox.ts";
import type { StoreParts } from "./sqlite/job-database.ts";
import type { LeasedMessage } from "./sqlite/outbox-operations.ts";

/** Other processes add messages too, without ringing our alarm. */
const LONGEST_WAIT_MS = 1000;

export function sqliteOutbox({ database, alarm, now }: StoreParts, limits: OutboxLimits = outboxLimits): Outbox {
  function leaseOf({ message, failures, token }: LeasedMessage): OutboxLease {
    const holder = { receiver: message.receiver, id: message.id, token };
    return { message, failures, end: (how) => end(holder, how) };
  }

  async function end(holder: { receiver: string; id: string; token: string }, how: LeaseEnd): Promise<boolean> {
    if (how.kind === "sent") return database.run("messageSent", holder);
    if (how.kind === "untried") return database.run("messageUntried", { ...holder, now: now() });
    const delayMs = Math.round(how.afterSeconds * 1000);
    return database.run("messageFailed", { ...holder, now: now(), delayMs });
  }

  return {
    async add(messages) {
      await database.run("postMessages", { messages, now: now(), limits });
      alarm.ring();
    },

    async take(wanted) {
      const leaseMs = OUTBOX_LEASE_SECONDS * 1000;
      const taken = await database.run("takeMessages", { wanted, now: now(), leaseMs });
      return taken.map(leaseOf);
    },

    async wait(receivers, signal) {
      const { rings } = alarm;
      // Who cannot ask waits the whole time, and then hears from `take` what is wrong.
      const dueMs = await database.run("untilMessageDue", { receivers, now: now() }).catch(() => undefined);
      if (alarm.rings !== rings) return;
      const ms = Math.min(dueMs ?? LONGEST_WAIT_MS, LONGEST_WAIT_MS);
      if (ms > 0) await alarm.sleep(ms, signal);
    },

    async sweep() {
      let more = true;
      while (more) more = await database.run("sweepMessages", { now: now(), limits });
    },

    counts: () => database.run("messageCounts", { now: now() }),
  };
}
