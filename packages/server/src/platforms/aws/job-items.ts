import type { Job } from "../../model/job.ts";
import type { JobCard } from "../../model/job-card.ts";
import { type JobItem, type JobKey, jobItem, primaryKey, shownOf } from "./job-state.ts";
import type { Attributes, Table } from "./table.ts";

/** Whose lease it is. Nothing is written for a lease that was lost: then the answer is false. */
interface Holder {
  key: JobKey;
  token: string;
}

/** A job as it is now, and what that changes about the one in its messages. */
export interface Progress {
  job: Job;
  /** Sealed. */
  changes: string;
}

interface ClaimArgs {
  key: JobKey;
  job: Job;
  /** Which message it came in. */
  messageId: string;
  attempt: number;
  token: string;
  /** When the lease ends. */
  until: number;
  /** Whatever is due by then may be taken. */
  dueBy: number;
}

/** What happens to the items of jobs in the queue. All of it throws `QueueUnavailable`. */
export interface JobItems {
  /** Due at once. An item that is there already stays as it is. */
  add(key: JobKey, job: Job, now: number): Promise<void>;
  /** Takes back an add, as long as nobody took the job. */
  unadd(key: JobKey): Promise<void>;
  /** The item with its new lease; else as it is, because it is somebody else's, not due, buried, or done. */
  claim(args: ClaimArgs): Promise<{ kind: "claimed" | "refused"; item: JobItem }>;
  extend(holder: Holder, until: number): Promise<boolean>;
  save(holder: Holder, progress: Progress): Promise<boolean>;
  /** The item goes; or becomes a note that the job is done. */
  finish(holder: Holder, end: { note: boolean; now: number }): Promise<boolean>;
  /** Leaves such a note where there is nothing. */
  noteDone(key: JobKey, now: number): Promise<void>;
  putBack(holder: Holder, progress: Progress & { dueAt: number; now: number }): Promise<boolean>;
  bury(holder: Holder, progress: Progress & { reason: string; now: number }): Promise<boolean>;
  /** Buries what nobody holds and is due, whether or not there is an item. What is buried already keeps its reason. */
  buryUnheld(key: JobKey, letter: UnheldLetter): Promise<boolean>;
  /** From buried to due at once. False when it is not buried. The token is for this one time. */
  redrive(redrive: Holder, progress: Progress & { now: number }): Promise<boolean>;
  /** Deletes what is buried, and nothing else. False when it is not buried. */
  purge(key: JobKey): Promise<boolean>;
  get(key: JobKey): Promise<JobItem | undefined>;
}

export interface UnheldLetter {
  submittedAt: number;
  card: JobCard | undefined;
  reason: string;
  at: number;
  now: number;
}

/** An item outlives the messages of its job, which SQS keeps for 14 days at most. */
const KEPT_SECONDS = 15 * 86_400;
/** A message that could not be deleted comes back within one lease. */
const NOTE_SECONDS = 86_400;

/** Since it was added, nor put back by an operator. */
export const NEVER_TAKEN = "attribute_not_exists(message_id) AND attribute_not_exists(changes)";
const HELD = "lease_token = :token";
const BURIED = "attribute_exists(buried_at)";
/**
 * A dead letter that comes back with another message than that it was buried with was put back by an operator, with
 * other tools than ours. Its own token: the answer to a first try was lost.
 */
const CLAIMABLE = [
  "attribute_not_exists(done)",
  "(attribute_not_exists(buried_at) OR attribute_not_exists(message_id) OR message_id <> :message)",
  `(attribute_not_exists(due_at) OR due_at <= :by OR ${HELD})`,
  // On one line: stand-ins for DynamoDB refuse line breaks.
].join(" AND ");

export function jobItems(table: Table): JobItems {
  const held = ({ token }: Holder): { if: string; values: Attributes } => ({
    if: HELD,
    values: { ":token": text(token) },
  });
  /** Settled by it just now, and nobody took the job since: the answer to a first try was lost. */
  const heldOrLast = (holder: Holder): { if: string; values: Attributes } => {
    return { ...held(holder), if: `${HELD} OR last_token = :token` };
  };
  const written = ({ job, changes }: Progress): Attributes => ({
    changes: text(changes),
    ...shownOf(job),
  });
  const note = (now: number): Attributes => ({ done: { BOOL: true }, expires_at: secondsFrom(now, NOTE_SECONDS) });

  async function get(key: JobKey): Promise<JobItem | undefined> {
    const attributes = await table.get(primaryKey(key));
    return attributes && jobItem(attributes);
  }

  return {
    get,

    async add(key, job, now) {
      const item = {
        ...primaryKey(key),
        id: text(key.id),
        submitted_at: number(job.submittedAt),
        due_at: number(now),
        attempts: number(0),
        ...shownOf(job),
        expires_at: secondsFrom(now, KEPT_SECONDS),
      };
      await table.put(item, { if: "attribute_not_exists(pk)" });
    },

    async unadd(key) {
      await table.remove(primaryKey(key), { if: `attribute_exists(due_at) AND ${NEVER_TAKEN}` });
    },

    async claim({ key, job, messageId, attempt, token, until, dueBy }) {
      for (;;) {
        const claimed = await table.updated(primaryKey(key), {
          if: CLAIMABLE,
          values: { ":by": number(dueBy), ":token": text(token), ":message": text(messageId) },
          set: {
            id: text(key.id),
            attempts: number(attempt),
            lease_token: text(token),
            message_id: text(messageId),
            due_at: number(until),
            expires_at: secondsFrom(until, KEPT_SECONDS),
          },
          setOnce: { submitted_at: number(job.submittedAt), ...shownOf(job) },
          remove: ["buried_at", "reason", "last_token"],
        });
        if (claimed) return { kind: "claimed", item: jobItem(claimed) };
        const item = await get(key);
        if (item) return { kind: "refused", item };
      }
    },

    extend: (holder, until) =>
      table.update(primaryKey(holder.key), {
        ...held(holder),
        set: { due_at: number(until), expires_at: secondsFrom(until, KEPT_SECONDS) },
      }),

    save: (holder, progress) => table.update(primaryKey(holder.key), { ...held(holder), set: written(progress) }),

    async finish(holder, end) {
      if (!end.note) return (await table.remove(primaryKey(holder.key), held(holder))) !== false;
      return table.update(primaryKey(holder.key), {
        ...held(holder),
        set: note(end.now),
        remove: ["lease_token", "due_at", "card", "life", "changes"],
      });
    },

    async noteDone(key, now) {
      await table.put({ ...primaryKey(key), id: text(key.id), ...note(now) }, { if: "attribute_not_exists(pk)" });
    },

    putBack: (holder, progress) =>
      table.update(primaryKey(holder.key), {
        ...heldOrLast(holder),
        set: {
          ...written(progress),
          last_token: text(holder.token),
          due_at: number(progress.dueAt),
          attempts: number(0),
          expires_at: secondsFrom(progress.dueAt, KEPT_SECONDS),
        },
        remove: ["lease_token"],
      }),

    bury: (holder, progress) =>
      table.update(primaryKey(holder.key), {
        ...heldOrLast(holder),
        set: {
          ...written(progress),
          last_token: text(holder.token),
          buried_at: number(progress.now),
          reason: text(progress.reason),
          expires_at: secondsFrom(progress.now, KEPT_SECONDS),
        },
        remove: ["lease_token", "due_at"],
      }),

    buryUnheld: (key, { submittedAt, card, reason, at, now }) =>
      table.update(primaryKey(key), {
        if: "attribute_not_exists(done) AND (attribute_not_exists(due_at) OR due_at <= :by)",
        values: { ":by": number(now) },
        set: { id: text(key.id), expires_at: secondsFrom(now, KEPT_SECONDS) },
        setOnce: {
          buried_at: number(at),
          reason: text(reason),
          submitted_at: number(submittedAt),
          attempts: number(0),
          ...(card && { card: text(JSON.stringify(card)) }),
        },
        remove: ["lease_token", "due_at"],
      }),

    redrive: ({ key, token }, progress) =>
      table.update(primaryKey(key), {
        if: `${BURIED} OR last_token = :token`,
        values: { ":token": text(token) },
        set: {
          ...written(progress),
          last_token: text(token),
          due_at: number(progress.now),
          attempts: number(0),
          expires_at: secondsFrom(progress.now, KEPT_SECONDS),
        },
        remove: ["buried_at", "reason"],
      }),

    purge: async (key) => (await table.remove(primaryKey(key), { if: BURIED })) !== false,
  };
}

function text(value: string): { S: string } {
  return { S: value };
}

function number(value: number): { N: string } {
  return { N: String(Math.round(value)) };
}

/** What DynamoDB's TTL reads. */
function secondsFrom(now: number, seconds: number): { N: string } {
  return number(now / 1000 + seconds);
}
