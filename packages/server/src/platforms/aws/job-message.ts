import { QueueUnavailable } from "../../model/faults.ts";
import { type Callback, type Job, type JobSource, nobodysAccount, noFailures, shareOf } from "../../model/job.ts";
import type { Sealer } from "../shared/sealed.ts";
import type { JobKey } from "./job-state.ts";
import { MAX_MESSAGE_BYTES } from "./message-queue.ts";

/** A job on its way through the queue: whole, so that it can be run by whoever gets the message and has the key. */
interface SealedJob {
  lazaret: "sealed job";
  added: string;
  id: string;
  /** The job, in base64. */
  sealed: string;
}

/** Jobs as messages, and what changed about them as an attribute in the table. All that clients sent is sealed in both. */
export interface JobMessages {
  /** Throws `JobTooLarge`. */
  write(added: string, job: Job): string;
  /** The same; or the message that it came in, if the job has become too large. The table has what was achieved. */
  writeOr(body: string, added: string, job: Job): string;
  /** Undefined when it is no message of ours, or was sealed with another key. */
  read(body: string): { key: JobKey; job: Job } | undefined;
  /** The same for all jobs of a share, and shows nothing of whose it is. */
  groupOf(job: Job): string;
  sealChanges(id: string, changes: JobChanges): string;
  /** Throws `QueueUnavailable` for changes that were sealed with another key: nothing must be done without them. */
  openChanges(id: string, sealed: string | undefined): JobChanges | undefined;
}

/**
 * It does not fit into one message. What the API accepts always fits.
 * @internal a test tells it from other failures
 */
export class JobTooLarge extends QueueUnavailable {
  constructor(bytes: number) {
    super(`cannot queue the job: it has ${bytes} bytes, and a message of SQS has room for ${MAX_BODY_BYTES}`);
    this.name = "JobTooLarge";
  }
}

/** Leaves room for what is written on a message when it is buried. */
const MAX_MARK_BYTES = 4096;
export const MAX_BODY_BYTES: number = MAX_MESSAGE_BYTES - MAX_MARK_BYTES;

/** Enough that no two shares are taken for one. */
const GROUP_BYTES = 12;

export function jobMessages(sealer: Sealer): JobMessages {
  function write(added: string, job: Job): string {
    const sealed = Buffer.from(sealer.seal(JSON.stringify(job), ["job", job.id])).toString("base64");
    const body = JSON.stringify({ lazaret: "sealed job", added, id: job.id, sealed } satisfies SealedJob);
    const bytes = Buffer.byteLength(body);
    if (bytes > MAX_BODY_BYTES) throw new JobTooLarge(bytes);
    return body;
  }

  function opened({ lazaret, id, job, sealed }: Record<string, unknown>): unknown {
    // As an older version sent them, which may be in the queue for 14 days.
    if (lazaret === "job") return job;
    if (lazaret !== "sealed job" || typeof id !== "string" || typeof sealed !== "string") return undefined;
    return parsed(sealer.unseal(Buffer.from(sealed, "base64"), ["job", id]) ?? "");
  }

  return {
    write,

    writeOr(body, added, job) {
      try {
        return write(added, job);
      } catch (error) {
        if (error instanceof JobTooLarge) return body;
        throw error;
      }
    },

    read(body) {
      const message = parsed(body);
      if (!isRecord(message)) return undefined;
      const { added } = message;
      const job = opened(message);
      if (typeof added !== "string" || !/^\d{17}$/.test(added) || !isJob(job)) return undefined;
      // One that an older version sent has no count of what it did not count, and no tenant.
      return { key: { id: job.id, added }, job: { ...noFailures, ...nobodysAccount, ...job } };
    },

    groupOf: (job) => Buffer.from(sealer.digest(`share ${shareOf(job)}`)).toString("hex", 0, GROUP_BYTES),

    sealChanges: (id, changes) => Buffer.from(sealer.seal(JSON.stringify(changes), ["changes", id])).toString("base64"),

    openChanges(id, sealed) {
      if (sealed === undefined) return undefined;
      // As an older version wrote them.
      if (sealed.startsWith("{")) return JSON.parse(sealed) as JobChanges;
      const text = sealer.unseal(Buffer.from(sealed, "base64"), ["changes", id]);
      if (text === undefined) throw new QueueUnavailable("cannot open what the table has of a job: the key is another");
      return JSON.parse(text) as JobChanges;
    },
  };
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
 * What is different about a job by now. It holds values and not steps, all since the job was added: put onto any older
 * state of the job it gives the newest.
 */
export interface JobChanges {
  set: Partial<Job>;
  unset: (keyof Job)[];
}

/** All that makes `job` of `base`, and names whatever `before` named. */
export function changesTo(base: Job, job: Job, before: JobChanges | undefined): JobChanges {
  const named = before ? [...Object.keys(before.set), ...before.unset] : [];
  const changed = [...new Set([...Object.keys(base), ...Object.keys(job), ...named])].filter(
    (name) => named.includes(name) || !same(fieldOf(base, name), fieldOf(job, name)),
  );
  return {
    set: Object.fromEntries(
      changed.map((name) => [name, fieldOf(job, name)]).filter(([, value]) => value !== undefined),
    ),
    unset: changed.filter((name) => fieldOf(job, name) === undefined) as (keyof Job)[],
  };
}

export function withChanges(base: Job, changes: JobChanges | undefined): Job {
  if (!changes) return base;
  const job: Job = { ...base, ...changes.set };
  for (const name of changes.unset) delete job[name];
  return job;
}

function fieldOf(job: Job, name: string): unknown {
  return job[name as keyof Job];
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

const LONGEST_ID = 128;

/** Whether it is as we write jobs. Who may send to the queue may send anything. */
function isJob(value: unknown): value is Job {
  if (!isRecord(value)) return false;
  const { id, submittedAt, tenant, key, source, callback, report } = value;
  return (
    isText(id) &&
    id.length <= LONGEST_ID &&
    isCount(submittedAt) &&
    isOptionalText(tenant) &&
    isOptionalText(key) &&
    isOptionalText(value.traceId) &&
    isOptionalText(value.customData) &&
    isSource(source) &&
    (callback === undefined || isCallback(callback)) &&
    (report === undefined || isReport(report)) &&
    (value.life === undefined || isLife(value.life)) &&
    [value.failedDownloads, value.failedScans, value.failedActions, value.failedCallbacks].every(isCount) &&
    [value.failedRuns, value.failedTrials, value.lostLeases].every((each) => each === undefined || isCount(each))
  );
}

function isSource(value: unknown): value is JobSource {
  if (!isRecord(value)) return false;
  if (value.kind === "url") return isText(value.url) && isHeaders(value.headers);
  if (value.kind !== "object" || !isText(value.bucket) || !isText(value.key)) return false;
  return isOptionalText(value.version) && isOptionalText(value.address);
}

function isCallback(value: unknown): value is Callback {
  return isRecord(value) && isText(value.url) && isHeaders(value.headers);
}

function isReport(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value.verdict) || !isText(value.verdict.kind)) return false;
  return [value.sizeBytes, value.downloadSeconds, value.scanSeconds].every((each) => typeof each === "number");
}

function isLife(value: unknown): boolean {
  if (!isRecord(value) || !isCount(value.leftOut) || !Array.isArray(value.steps)) return false;
  return value.steps.every((step) => isRecord(step) && isCount(step.at) && isText(step.what));
}

function isHeaders(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every(isText);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || isText(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
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
