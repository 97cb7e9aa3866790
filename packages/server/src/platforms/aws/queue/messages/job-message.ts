import { QueueUnavailable } from "../../../../model/faults.ts";
import { type Job, noFailures } from "../../../../model/job.ts";
import type { JobKey } from "../items/job-item.ts";
import { isJob } from "./is-job.ts";
import { MAX_MESSAGE_BYTES } from "./message-queue.ts";

/** A job on its way through the queue: whole, so that it can be run by whoever gets the message. */
interface JobMessage {
  lazaret: "job";
  added: string;
  job: Job;
}

/** It does not fit into one message. What the API accepts always fits. */
export class JobTooLarge extends QueueUnavailable {
  constructor(bytes: number) {
    super(`cannot queue the job: it has ${bytes} bytes, and a message of SQS has room for ${MAX_BODY_BYTES}`);
    this.name = "JobTooLarge";
  }
}

/** Leaves room for what is written on a message when it is buried. */
const MAX_MARK_BYTES = 4096;
export const MAX_BODY_BYTES: number = MAX_MESSAGE_BYTES - MAX_MARK_BYTES;

/** Throws `JobTooLarge`. */
export function jobMessage(added: string, job: Job): string {
  const body = plainJson({ lazaret: "job", added, job } satisfies JobMessage);
  const bytes = Buffer.byteLength(body);
  if (bytes > MAX_BODY_BYTES) throw new JobTooLarge(bytes);
  return body;
}

/** The same; or the message that it came in, if the job has become too large. The table has what was achieved. */
export function jobMessageOr(body: string, added: string, job: Job): string {
  try {
    return jobMessage(added, job);
  } catch (error) {
    if (error instanceof JobTooLarge) return body;
    throw error;
  }
}

/** Undefined when it is no message of ours. */
export function readJobMessage(body: string): { key: JobKey; job: Job } | undefined {
  const message = parsed(body);
  if (!isRecord(message) || message.lazaret !== "job") return undefined;
  const { added, job } = message;
  if (typeof added !== "string" || !/^\d{17}$/.test(added) || !isJob(job)) return undefined;
  // One that an older version sent has no count of what it did not count.
  return { key: { id: job.id, added }, job: { ...noFailures, ...job } };
}

/** What is written on a message when it is buried. */
export interface BurialMark extends JobKey {
  at: number;
  reason: string;
}

const LONGEST_REASON = 300;

export function burialMark({ id, added, at, reason }: BurialMark): string {
  return plainJson({ id, added, at, reason: reason.slice(0, LONGEST_REASON) });
}

export function readBurialMark(text: string | undefined): BurialMark | undefined {
  const mark = text === undefined ? undefined : parsed(text);
  if (!isRecord(mark)) return undefined;
  const { id, added, at, reason } = mark;
  if (typeof id !== "string" || typeof added !== "string" || !/^\d{17}$/.test(added)) return undefined;
  return typeof at === "number" && typeof reason === "string" ? { id, added, at, reason } : undefined;
}

/**
 * JSON of characters that every queue takes: SQS refuses U+FFFE and U+FFFF, and its stand-ins also what is above them.
 * Lone halves of surrogate pairs are escaped by JSON itself.
 */
function plainJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\ud7ff\ue000-\ufffd]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
