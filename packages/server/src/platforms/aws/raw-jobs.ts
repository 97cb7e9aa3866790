import { createHash } from "node:crypto";
import { newJob, nobodysAccount } from "../../model/job.ts";
import { burialMark, MAX_BODY_BYTES } from "./job-message.ts";
import { addedText, type JobKey } from "./job-state.ts";
import { addJob, type StoreParts } from "./job-store.ts";
import type { ReceivedMessage } from "./message-queue.ts";
import { type RawSubmission, readRawMessage } from "./raw-messages.ts";

/** So many are sent before the message they came in is hidden anew. */
const SENT_AT_ONCE = 200;

/**
 * Makes jobs of a message of another producer, and deletes it when they are in the queue. Their ids follow from the
 * message: after a crash in between they are made again, the same, and the table keeps them from running side by side.
 * What cannot be understood is buried, with the reason. Throws `QueueUnavailable`; the message comes back then.
 */
export async function takeInRawMessage(message: ReceivedMessage, parts: StoreParts): Promise<undefined> {
  const { jobs, leaseSeconds } = parts;
  const raw = readRawMessage(message.body, parts.checks);
  if (raw.kind === "garbage") return bury(message, raw.reason, parts);
  if (raw.kind === "jobs") {
    for (let from = 0; from < raw.submissions.length; from += SENT_AT_ONCE) {
      if (from > 0) await jobs.hide(message.receipt, leaseSeconds);
      const some = raw.submissions.slice(from, from + SENT_AT_ONCE);
      await Promise.all(some.map((submission, index) => add(message, submission, { index: from + index, parts })));
    }
    if (raw.problems.length > 0) return bury(message, raw.problems.slice(0, 5).join("; "), parts);
  }
  await jobs.remove(message.receipt);
  return undefined;
}

async function add(
  message: ReceivedMessage,
  submission: RawSubmission,
  { index, parts }: { index: number; parts: StoreParts },
): Promise<void> {
  // Nobody with a key asked for it: who may send to the queue may have things scanned.
  const asked = { ...submission, ...nobodysAccount };
  const job = newJob(asked, { id: idOf(message, index), submittedAt: message.sentAt });
  await addJob(job, rawKey(message, index).added, parts);
}

/** The key of a message that is not ours, as a dead letter; and of the jobs in it. */
export function rawKey(message: ReceivedMessage, index: number): JobKey {
  return { id: idOf(message, index), added: addedText(message.sentAt * 1000 + Math.min(index, 999)) };
}

async function bury(message: ReceivedMessage, reason: string, parts: StoreParts): Promise<undefined> {
  const { items, deadLetters, jobs, now } = parts;
  // One that leaves no room for the reason is moved by the queue itself, and read again when somebody asks for it.
  if (Buffer.byteLength(message.body) > MAX_BODY_BYTES) return undefined;
  const at = now();
  const key = rawKey(message, LETTER);
  await items.buryUnheld(key, { submittedAt: message.sentAt, card: undefined, reason, at, now: at });
  await deadLetters.send({ body: message.body, mark: burialMark({ ...key, at, reason }) });
  await jobs.remove(message.receipt);
  return undefined;
}

/** Stands for the message itself, where others are numbers of jobs in it. */
export const LETTER = -1;

/** Looks like any other id of a job. */
function idOf({ messageId }: ReceivedMessage, index: number): string {
  const hex = createHash("sha256").update(`${messageId} ${index}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}
