import { createHash } from "node:crypto";
import type { Job } from "../../model/job.ts";
import { type JobCard, jobCard } from "../../model/job-card.ts";
import type { Life } from "../../model/life.ts";
import type { JobState } from "../../queue/job-queue.ts";
import type { Attributes } from "./table.ts";

/** Finds a job's item. `added` is when it was added, and among those of one moment which was first. */
export interface JobKey {
  id: string;
  added: string;
}

/**
 * What the table says about a job that is in the queue. The table is right; messages only carry the job and wake
 * a worker. A job is in one of four states:
 *
 *   ready    dueAt in the past
 *   delayed  dueAt in the future, no token
 *   leased   dueAt in the future, the end of the lease; token
 *   buried   buriedAt, no dueAt, no token
 *
 * A job whose lease ran out is ready; its token stays until somebody else takes it.
 */
export interface JobItem extends JobKey {
  submittedAt: number;
  attempts: number;
  dueAt?: number;
  token?: string;
  /** The message that the newest lease came with. */
  messageId?: string;
  buriedAt?: number;
  reason?: string;
  /** What people may see. Undefined for a message that could not be read. */
  card?: JobCard;
  /** What happened to it so far. */
  life?: Life;
  /** What is different about the job by now, sealed. */
  changes?: string;
  /** A note that the job is finished, kept for a while where its message may come back. */
  done: boolean;
}

/** A partition takes about 1,000 writes a second, and a job needs four: so many make room for thousands of jobs. */
export const SHARDS: readonly string[] = Array.from({ length: 16 }, (_, index) => `jobs#${index.toString(16)}`);

/** In one partition items lie in the order in which they were added. */
export function primaryKey({ id, added }: JobKey): Attributes {
  return { pk: { S: shardOf(id) }, sk: { S: placeOf({ id, added }) } };
}

export function shardOf(id: string): string {
  return `jobs#${createHash("sha256").update(id).digest("hex").slice(0, 1)}`;
}

/** Sorts jobs of all shards by when they were added. */
export function placeOf({ id, added }: JobKey): string {
  return `${added}#${id}`;
}

/** What people may see, as attributes. */
export function shownOf(job: Job): Attributes {
  return {
    card: { S: JSON.stringify(jobCard(job)) },
    ...(job.life && { life: { S: JSON.stringify(job.life) } }),
  };
}

export function stateOf({ buriedAt, dueAt = 0, token }: JobItem, now: number): JobState {
  if (buriedAt !== undefined) return "buried";
  if (dueAt <= now) return "ready";
  return token === undefined ? "delayed" : "leased";
}

export function jobItem(attributes: Attributes): JobItem {
  const text = (name: string): string | undefined => attributes[name]?.S;
  const number = (name: string): number | undefined => {
    const digits = attributes[name]?.N;
    return digits === undefined ? undefined : Number(digits);
  };
  const { id, added } = keyAt(text("sk") ?? "");
  const [dueAt, token, buriedAt, reason] = [number("due_at"), text("lease_token"), number("buried_at"), text("reason")];
  const [card, life, changes, messageId] = [text("card"), text("life"), text("changes"), text("message_id")];
  return {
    id,
    added,
    submittedAt: number("submitted_at") ?? 0,
    attempts: number("attempts") ?? 0,
    done: attributes.done?.BOOL ?? false,
    ...(dueAt !== undefined && { dueAt }),
    ...(token !== undefined && { token }),
    ...(messageId !== undefined && { messageId }),
    ...(buriedAt !== undefined && { buriedAt }),
    ...(reason !== undefined && { reason }),
    ...(card !== undefined && { card: JSON.parse(card) }),
    ...(life !== undefined && { life: JSON.parse(life) }),
    ...(changes !== undefined && { changes }),
  };
}

/** What `placeOf` was made of. */
export function keyAt(place: string): JobKey {
  const at = place.indexOf("#");
  return { added: place.slice(0, at), id: place.slice(at + 1) };
}

/** Hands out what `added` is, never the same twice, and never earlier than before. */
export function addedClock(now: () => number): () => string {
  let last = 0;
  return () => {
    last = Math.max(last + 1, now() * 1000);
    return addedText(last);
  };
}

/** Of a message that was not sent by us: when the queue got it. */
export function addedText(microseconds: number): string {
  return String(Math.trunc(microseconds)).padStart(17, "0");
}
