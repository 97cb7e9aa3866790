import { randomUUID } from "node:crypto";
import { noFailures } from "../../model/job.ts";
import type { DeadLetter, DeadLetters } from "../../queue/job-queue.ts";
import { pageOf } from "../shared/page.ts";
import type { JobItem } from "./job-state.ts";
import { type FoundLetter, sweepDeadLetters, unheldLetter } from "./queue/dead-letter-sweep.ts";
import { changesTo, withChanges } from "./queue/items/job-changes.ts";
import type { StoreParts } from "./queue/store-parts.ts";

/**
 * A dead letter is a message in the dead letter queue, which has the job, and an item in the table, which has what
 * became of it. Letters that SQS itself moved there, because nobody ever settled them, get their item when somebody
 * looks.
 */
export function sqsDeadLetters(parts: StoreParts): DeadLetters {
  const { deadLetters, jobs, items, browser, alarm, now } = parts;

  /** All that the table knows of, after those that only the queue knew of have got their items. */
  async function allLetters(): Promise<JobItem[]> {
    const { visible, hidden, delayed } = await deadLetters.depth();
    const known = await browser.buried();
    if (visible + hidden + delayed <= known.length) return known;
    await sweepDeadLetters(parts, adopt, () => false);
    return browser.buried();
  }

  async function adopt(letter: FoundLetter): Promise<"kept" | "gone"> {
    const item = await items.get(letter.key);
    if (item?.done) {
      await deadLetters.remove(letter.message.receipt);
      return "gone";
    }
    if (item?.buriedAt === undefined) await items.buryUnheld(letter.key, unheldLetter(letter, item, parts));
    return "kept";
  }

  /** Does the work for each of the chosen that is found in the queue, and counts those for which it was done. */
  async function forEach(
    ids: readonly string[] | "all",
    work: (letter: FoundLetter, item: JobItem) => Promise<boolean>,
  ): Promise<{ count: number; missing: Map<string, JobItem> }> {
    const letters = ids === "all" || ids.length > 0 ? await allLetters() : [];
    const chosen = letters.filter(({ id }) => ids === "all" || ids.includes(id));
    const missing = new Map(chosen.map((item) => [item.id, item]));
    const worked = new Set<string>();
    const visit = async ({ key, ...letter }: FoundLetter): Promise<"kept" | "gone"> => {
      const item = missing.get(key.id);
      if (item && (await work({ key, ...letter }, item))) {
        missing.delete(key.id);
        worked.add(key.id);
      }
      // There may be two letters of one job; the second is done with, too.
      if (!worked.has(key.id)) return "kept";
      await deadLetters.remove(letter.message.receipt);
      return "gone";
    };
    await sweepDeadLetters(parts, visit, () => missing.size === 0);
    return { count: worked.size, missing };
  }

  async function redriveOne({ message, key, job }: FoundLetter, item: JobItem): Promise<boolean> {
    if (!job) {
      // Not ours, and perhaps understood now.
      if (!(await items.purge(key))) return false;
      await jobs.send({ body: message.body });
      return true;
    }
    const messages = await parts.messages();
    const changes = messages.openChanges(key.id, item.changes);
    const known = withChanges(job, changes);
    const again = { ...known, ...noFailures };
    const progress = { job: again, changes: messages.sealChanges(key.id, changesTo(job, again, changes)) };
    if (!(await items.redrive({ key, token: randomUUID() }, { ...progress, now: now() }))) return false;
    await jobs.send({ body: messages.writeOr(message.body, key.added, again) });
    return true;
  }

  return {
    async list({ limit, after }) {
      const letters = (await allLetters()).filter((item) => after === undefined || letterPlace(item) < after);
      letters.sort((a, b) => (letterPlace(a) < letterPlace(b) ? 1 : -1));
      return pageOf(letters.slice(0, limit + 1), { limit, entryOf: letterOf, placeOf: letterPlace });
    },

    async show(id) {
      const known = await browser.find(id);
      if (known?.buriedAt !== undefined) return letterOf(known);
      const item = (await allLetters()).find((letter) => letter.id === id);
      return item && letterOf(item);
    },

    async redrive(ids) {
      const { count } = await forEach(ids, redriveOne);
      if (count > 0) alarm.ring();
      return count;
    },

    async purge(ids) {
      const { count, missing } = await forEach(ids, ({ key }) => items.purge(key));
      // Of these the queue kept the message no longer.
      const leftOver = await Promise.all([...missing.values()].map((item) => items.purge(item)));
      return count + leftOver.filter(Boolean).length;
    },
  };
}

function letterOf({ id, submittedAt, buriedAt = 0, reason = "", card }: JobItem): DeadLetter {
  return { id, submittedAt, buriedAt, reason, job: card };
}

/** Sorts letters by when they were buried. */
function letterPlace({ buriedAt = 0, id }: JobItem): string {
  return `${String(buriedAt).padStart(15, "0")}.${id}`;
}
