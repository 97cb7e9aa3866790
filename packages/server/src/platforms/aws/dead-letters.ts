import { randomUUID } from "node:crypto";
import { type Job, redriven } from "../../model/job.ts";
import { jobCard } from "../../model/job-card.ts";
import { type DeadLetter, type DeadLetters, POISON, type Redrive } from "../../queue/job-queue.ts";
import { pageOf } from "../shared/page.ts";
import type { UnheldLetter } from "./job-items.ts";
import { changesTo, type JobMessages, readBurialMark, withChanges } from "./job-message.ts";
import type { JobItem, JobKey } from "./job-state.ts";
import type { StoreParts } from "./job-store.ts";
import { LARGEST_BATCH, type ReceivedMessage } from "./message-queue.ts";
import { LETTER, rawKey } from "./raw-jobs.ts";
import { readRawMessage } from "./raw-messages.ts";

/**
 * A dead letter is a message in the dead letter queue, which has the job, and an item in the table, which has what
 * became of it. Letters that SQS itself moved there, because nobody ever settled them, get their item when somebody
 * asks for them.
 */
export function sqsDeadLetters(parts: StoreParts): DeadLetters {
  const { deadLetters, jobs, items, waiting, browser, alarm, now } = parts;

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
    if (item?.buriedAt === undefined) {
      const buried = await items.buryUnheld(letter.key, unheldLetter(letter, item, parts));
      if (buried && letter.job) await waiting.remove(letter.key, letter.job);
    }
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

  async function redriveOne({ message, key, job }: FoundLetter, item: JobItem, what: Redrive): Promise<boolean> {
    if (!job) {
      // Not ours, and perhaps understood now.
      if (!(await items.purge(key))) return false;
      await jobs.send({ body: message.body });
      return true;
    }
    const messages = await parts.messages();
    const changes = messages.openChanges(key.id, item.changes);
    const again = redriven(withChanges(job, changes), what, now());
    const progress = { job: again, changes: messages.sealChanges(key.id, changesTo(job, again, changes)) };
    if (!(await items.redrive({ key, token: randomUUID() }, { ...progress, now: now() }))) return false;
    await jobs.send({
      body: messages.writeOr(message.body, key.added, again),
      group: messages.groupOf(again),
    });
    await waiting.add(key, again);
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

    async redrive(ids, what = "rest") {
      const { count } = await forEach(ids, (letter, item) => redriveOne(letter, item, what));
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

/** A message of the dead letter queue. */
interface FoundLetter {
  message: ReceivedMessage;
  key: JobKey;
  /** Undefined when it is no job of ours. */
  job: Job | undefined;
}

/** The only way to see what SQS holds is to receive it: nobody else sees a letter for so long. */
const HIDDEN_SECONDS = 60;
const LAST_WAIT_SECONDS = 1;

/**
 * Shows each letter once, until `visit` says that it is enough or there are no more. A visitor that answers `kept` leaves
 * the letter where it is; it can be seen again when the sweep is over. Two sweeps at once see only a part each.
 */
async function sweepDeadLetters(
  { deadLetters, messages }: Pick<StoreParts, "deadLetters" | "messages">,
  visit: (letter: FoundLetter) => Promise<"kept" | "gone">,
  enough: () => boolean,
): Promise<void> {
  const { read } = await messages();
  const seen = new Set<string>();
  const kept: string[] = [];

  /** Short polls ask some of the queue's servers, a long one all of them: only it can say that there is nothing. */
  async function received(): Promise<ReceivedMessage[]> {
    const options = { limit: LARGEST_BATCH, hiddenSeconds: HIDDEN_SECONDS };
    const some = await deadLetters.receive(options);
    return some.length > 0 ? some : deadLetters.receive({ ...options, waitSeconds: LAST_WAIT_SECONDS });
  }

  /** Letters of one job, one after the other. */
  async function visitAll(letters: readonly FoundLetter[]): Promise<void> {
    const left = [...letters];
    try {
      for (let letter = left[0]; letter; letter = left[0]) {
        if ((await visit(letter)) === "kept") kept.push(letter.message.receipt);
        left.shift();
      }
    } finally {
      kept.push(...left.map(({ message }) => message.receipt));
    }
  }

  try {
    while (!enough()) {
      const letters = await received();
      const fresh = letters.filter(({ messageId }) => !seen.has(messageId));
      kept.push(...letters.filter(({ messageId }) => seen.has(messageId)).map(({ receipt }) => receipt));
      if (fresh.length === 0) return;
      for (const { messageId } of fresh) seen.add(messageId);
      const byJob = Map.groupBy(
        fresh.map((message) => foundLetter(message, read(message.body))),
        ({ key }) => key.id,
      );
      const visits = await Promise.allSettled([...byJob.values()].map(visitAll));
      for (const each of visits) if (each.status === "rejected") throw each.reason;
    }
  } finally {
    // Those that cannot be shown again now are, when their time is over.
    await Promise.allSettled(kept.map((receipt) => deadLetters.hide(receipt, 0)));
  }
}

function foundLetter(message: ReceivedMessage, read: ReturnType<JobMessages["read"]>): FoundLetter {
  const key = read?.key ?? readBurialMark(message.mark) ?? rawKey(message, LETTER);
  return { message, key: { id: key.id, added: key.added }, job: read?.job };
}

/**
 * What the table should say about a letter that it knows nothing of: SQS buried it by itself. That was when
 * the last lease ran out; of a job that nobody ever took, SQS knows only when it was sent.
 */
function unheldLetter(
  { message, job }: FoundLetter,
  item: JobItem | undefined,
  parts: Pick<StoreParts, "checks" | "now">,
): UnheldLetter {
  const mark = readBurialMark(message.mark);
  const raw = job || mark ? undefined : readRawMessage(message.body, parts.checks);
  const now = parts.now();
  return {
    submittedAt: job?.submittedAt ?? message.sentAt,
    card: job && jobCard(job),
    reason: mark?.reason ?? (raw?.kind === "garbage" ? raw.reason : POISON),
    at: mark?.at ?? Math.min(item?.dueAt ?? message.sentAt, now),
    now,
  };
}
