import type { Job } from "../../../model/job.ts";
import { jobCard, POISON } from "../../../queue/job-queue.ts";
import { readRawMessage } from "../raw-messages.ts";
import type { JobItem, JobKey } from "./items/job-item.ts";
import type { UnheldLetter } from "./items/job-items.ts";
import { type JobMessages, readBurialMark } from "./messages/job-message.ts";
import { LARGEST_BATCH, type ReceivedMessage } from "./messages/message-queue.ts";
import { LETTER, rawKey } from "./raw/raw-jobs.ts";
import type { StoreParts } from "./store-parts.ts";

/** A message of the dead letter queue. */
export interface FoundLetter {
  message: ReceivedMessage;
  key: JobKey;
  /** Undefined when it is no job of ours. */
  job: Job | undefined;
}

/** The only way to look into SQS is to receive: nobody else sees a letter for so long. */
const HIDDEN_SECONDS = 60;
const LAST_WAIT_SECONDS = 1;

/**
 * Shows each letter once, until `visit` says that it is enough or there are no more. A visitor that answers `kept` leaves
 * the letter where it is; it can be seen again when the sweep is over. Two sweeps at once see only a part each.
 */
export async function sweepDeadLetters(
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
  async function look(letters: readonly FoundLetter[]): Promise<void> {
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
      const looks = await Promise.allSettled([...byJob.values()].map(look));
      for (const each of looks) if (each.status === "rejected") throw each.reason;
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
 * What the table should say about a letter that it knows nothing of: SQS buried it, without telling anybody. That was when
 * the last lease ran out; of a job that nobody ever took, SQS tells only when it was sent.
 */
export function unheldLetter(
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
