import type { JobQueue, Lease, QueueCounts } from "../../queue/job-queue.ts";
import { claimMessage, type HiddenMessage } from "./claim-message.ts";
import { addJob } from "./queue/add-job.ts";
import { heldLeases } from "./queue/held-leases.ts";
import { messageShelf } from "./queue/messages/message-shelf.ts";
import type { StoreParts } from "./queue/store-parts.ts";

export interface SqsQueue extends JobQueue {
  /** Gives back what was received and not taken. */
  close(): Promise<void>;
}

/** Messages that turn out to be no lease are made up for, so often. */
const ROUNDS = 3;
/** Asked for only to hear whether the table answers. */
const NOBODY = { id: "", added: "" };

/**
 * Jobs in SQS and in a table of DynamoDB. Messages carry the jobs and say when somebody should look; the table says what
 * is the case: who has the lease, and what was achieved so far.
 *
 *   add      item ─▶ message
 *   take     message ─▶ item claimed with a random token
 *   settle   item, on condition of the token ─▶ queues
 */
export function sqsQueue(parts: StoreParts): SqsQueue {
  const { jobs, deadLetters, items, browser, now } = parts;
  const leases = heldLeases(now);
  const shelf = messageShelf(parts);
  let claimsFail = false;
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
    shelf.putBack(failed.map(({ message }) => message));
    const taken = claims.flatMap((claim) => (claim.status === "fulfilled" && claim.value ? [claim.value] : []));
    if (taken.length === 0 && failed[0]) throw failed[0].error;
    return taken;
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
      if (claimsFail && shelf.size === 0) {
        await items.get(NOBODY);
        claimsFail = false;
      }
      const taken: Lease[] = [];
      for (let round = 0; round < ROUNDS && taken.length < limit; round += 1) {
        const wanted = limit - taken.length;
        const messages = claimsFail ? shelf.shelved(wanted) : await shelf.next(wanted);
        if (messages.length === 0) break;
        const some = await claimAll(messages).catch((error: unknown) => {
          if (taken.length === 0) throw error;
          return [];
        });
        taken.push(...some);
        if (some.length === messages.length || claimsFail) break;
      }
      return taken;
    },

    wait: (signal) => shelf.wait(signal),

    /** As SQS tells them, which may be a minute behind. Metrics ask for each number by itself. */
    async counts() {
      counting ??= count().finally(() => {
        counting = undefined;
      });
      return { ...(await counting) };
    },

    close: shelf.close,
  };
}
