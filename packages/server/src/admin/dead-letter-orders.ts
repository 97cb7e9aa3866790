import { setTimeout as pause } from "node:timers/promises";
import type { ObjectSchema } from "@lazaret/contract";
import type { AdminDeadLetterOrder, AdminTask } from "@lazaret/contract/admin";
import type { DeadLetter, DeadLetters, Redrive } from "../queue/job-queue.ts";
import { checkBody, readJsonObject } from "../receive/body/json-body.ts";
import { badRequest } from "../receive/problem.ts";
import type { ApiRequest } from "../receive/request-answer.ts";
import type { ConsoleCaller } from "../receive/route.ts";
import { isStoreText } from "./asked.ts";
import { allLetters } from "./dead-letter-list.ts";
import { receiverOf } from "./shown.ts";
import type { Progress, Tasks } from "./tasks.ts";

export interface LetterParts {
  deadLetters: DeadLetters;
  tasks: Tasks;
  now(): number;
}

const MOST_IDS = 1000;
const MOST_PER_SECOND = 10_000;
/** One in a quarter of an hour: no timer waits for much longer than three weeks, and then does not wait at all. */
const LEAST_PER_SECOND = 0.001;
/** Letters that are changed with one write, where nobody asked for a rate. */
const AT_ONCE = 100;

const orderSchema: ObjectSchema = {
  type: "object",
  required: [],
  properties: {
    receiver: {
      type: "string",
      description: "The origin of callbacks, as dead-letters/receivers has it.",
      maxLength: 2048,
    },
    what: { type: "string", description: "callback, or job: all of it again.", enum: ["callback", "job"] },
  },
};

/** Puts dead letters back into the queue, so many a second. */
export async function redriveLetters(
  parts: LetterParts,
  request: ApiRequest,
  caller: ConsoleCaller,
): Promise<AdminTask> {
  const order = await orderIn(request);
  const { per_second } = order;
  const what: Redrive = order.what === "job" ? "whole" : "rest";
  await caller.record(inWords(order), { what, ...(per_second !== undefined && { per_second }) });
  return parts.tasks.start({ what: "redrive", on: inWords(order) }, (progress, signal) =>
    change(parts, { order, by: (ids) => parts.deadLetters.redrive(ids, what), progress, signal }),
  );
}

export async function deleteLetters(
  parts: LetterParts,
  request: ApiRequest,
  caller: ConsoleCaller,
): Promise<AdminTask> {
  const { per_second: _, ...order } = await orderIn(request);
  await caller.record(inWords(order));
  return parts.tasks.start({ what: "delete", on: inWords(order) }, (progress, signal) =>
    change(parts, { order, by: (ids) => parts.deadLetters.purge(ids), progress, signal }),
  );
}

async function orderIn(request: ApiRequest): Promise<AdminDeadLetterOrder> {
  const body = await readJsonObject(request);
  const { receiver, what } = checkBody<Pick<AdminDeadLetterOrder, "receiver" | "what">>(body, orderSchema);
  const { ids, all, per_second } = body;
  if ([ids, all, receiver].filter((each) => each !== undefined).length !== 1) {
    throw badRequest("invalid_request", "say which dead letters: one of ids, all and receiver");
  }
  if (all !== undefined && all !== true) throw badRequest("invalid_request", "all must be true");
  return {
    ...(ids !== undefined && { ids: idsIn(ids) }),
    ...(all === true && { all }),
    ...(receiver !== undefined && { receiver }),
    ...(what !== undefined && { what }),
    ...(per_second !== undefined && { per_second: rateIn(per_second) }),
  };
}

function idsIn(value: unknown): string[] {
  if (Array.isArray(value) && value.length > 0 && value.length <= MOST_IDS && value.every(isStoreText)) {
    return [...new Set(value)];
  }
  throw badRequest("invalid_request", `ids must be a list of 1 to ${MOST_IDS} ids`);
}

function rateIn(value: unknown): number {
  if (typeof value === "number" && value >= LEAST_PER_SECOND && value <= MOST_PER_SECOND) return value;
  throw badRequest("invalid_request", `per_second must be a number from ${LEAST_PER_SECOND} to ${MOST_PER_SECOND}`);
}

function inWords({ ids, receiver }: AdminDeadLetterOrder): string {
  if (ids) return ids.length > 3 ? `${ids.slice(0, 3).join(" ")} and ${ids.length - 3} more` : ids.join(" ");
  return receiver === undefined ? "all" : `all for ${receiver}`;
}

interface Change {
  order: AdminDeadLetterOrder;
  /** Answers how many were changed. */
  by(ids: readonly string[]): Promise<number>;
  progress: Progress;
  signal: AbortSignal;
}

/** A few at a time, each few with one write: whatever ends it in the middle, the others are where they were. */
async function change(parts: LetterParts, { order, by, progress, signal }: Change): Promise<void> {
  const { per_second: rate } = order;
  const atOnce = rate === undefined ? AT_ONCE : Math.min(AT_ONCE, Math.max(1, Math.floor(rate / 4)));
  if (order.ids) progress.total(order.ids.length);
  let few: string[] = [];
  const changeFew = async (): Promise<void> => {
    if (few.length === 0) return;
    const count = await by(few);
    if (count > 0) progress.done(count);
    if (count < few.length) progress.failed(few.length - count);
    const waitMs = rate === undefined ? 0 : (few.length / rate) * 1000;
    few = [];
    if (waitMs > 0) await pause(waitMs, undefined, { signal }).catch(() => {});
  };
  for await (const id of idsOf(parts, order)) {
    if (signal.aborted) return;
    few.push(id);
    if (few.length >= atOnce) await changeFew();
  }
  if (!signal.aborted) await changeFew();
}

/** Those that are there now: what is put back may be buried again while this runs. */
async function* idsOf({ deadLetters, now }: LetterParts, order: AdminDeadLetterOrder): AsyncGenerator<string> {
  if (order.ids) {
    yield* order.ids;
    return;
  }
  const until = now();
  const { receiver } = order;
  const isMeant = ({ job }: DeadLetter): boolean =>
    receiver === undefined || (job !== undefined && receiverOf(job) === receiver);
  for await (const letter of allLetters(deadLetters)) {
    if (letter.buriedAt <= until && isMeant(letter)) yield letter.id;
  }
}
