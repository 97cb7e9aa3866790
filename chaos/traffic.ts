import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "./client.ts";
import type { Files } from "./files.ts";
import type { Entry, Ledger } from "./ledger.ts";
import { type PlannedJob, plannedJob } from "./plan.ts";
import type { Receivers } from "./receivers.ts";
import type { Random } from "./seeded.ts";

/** What clients do: they submit as many jobs as they are allowed to, and poll for those that have no callback. */
export interface Traffic {
  /** So many jobs may be acknowledged from now on; never fewer than before. */
  admit(jobs: number): void;
  /** Resolves when as many are acknowledged as were admitted. */
  allSubmitted(): Promise<void>;
  /** Asks for the result of every submission once, at the end. */
  pollAll(): Promise<void>;
  /** Acknowledged jobs that are known to be delivered or polled. */
  readonly ended: number;
  /** …and how many will be: all but those to deaf receivers, and of files that kill. */
  readonly expected: number;
  /** Requests that were answered with 503. */
  readonly refused: number;
  /** Never resolves; rejects when a client gave up. */
  readonly failed: Promise<never>;
}

interface TrafficParts {
  ask: Client;
  book: Ledger;
  files: Files;
  receivers: Receivers;
  random: Random;
  deafShare: number;
  jobs: number;
  killers: number;
}

const SUBMITTERS = 8;
const POLLERS = 8;
const IDLE_MS = 20;
const DOWN_MS = 100;
const POLL_MS = 500;
const REFUSED = 503;

export function traffic(parts: TrafficParts, signal: AbortSignal): Traffic {
  const { ask, book, files, receivers } = parts;
  let admitted = 0;
  let underWay = 0;
  let number = 0;
  let refused = 0;

  /** No answer is to be expected, and a refusal is allowed. */
  function note(status: number | undefined, what: string): void {
    if (status === REFUSED) refused += 1;
    else if (status !== undefined) book.strange.push(`${what} was answered with ${status}`);
  }

  async function submit(job: PlannedJob): Promise<void> {
    const downloadUrl = files.urlOf(job);
    const entry = book.submitting(job, downloadUrl);
    const status = await ask.submit({
      download_url: downloadUrl,
      ...(job.answer !== "poll" && { callback_url: receivers.urlOf(job) }),
      trace_id: job.traceId,
      custom_data: job.customData,
    });
    if (status === (job.answer === "poll" ? 201 : 204)) return book.acknowledge(entry);
    note(status, `the submission of ${job.traceId}`);
    await pause(DOWN_MS, undefined, { signal });
  }

  async function submitForever(): Promise<void> {
    while (!signal.aborted) {
      if (book.acknowledged + underWay >= admitted || !ask.up) {
        await pause(IDLE_MS, undefined, { signal });
        continue;
      }
      number += 1;
      underWay += 1;
      await submit(plannedJob(number, parts)).finally(() => {
        underWay -= 1;
      });
    }
  }

  async function pollForever(): Promise<void> {
    while (!signal.aborted) {
      const waiting = [...book.entries.values()].filter(
        ({ job, acknowledged, results }) => acknowledged && job.answer === "poll" && results.length === 0,
      );
      await pollThese(waiting, false);
      await pause(POLL_MS, undefined, { signal });
    }
  }

  async function pollThese(entries: readonly Entry[], insist: boolean): Promise<void> {
    const left = [...entries];
    const poller = async (): Promise<void> => {
      for (let entry = left.pop(); entry; entry = left.pop()) {
        const { traceId } = entry.job;
        let answer = await ask.poll(traceId);
        while (insist && (!answer || answer.status === REFUSED)) {
          await pause(DOWN_MS, undefined, { signal });
          answer = await ask.poll(traceId);
        }
        if (answer?.result) book.polled(traceId, answer.result);
        else if (answer?.status !== 404) note(answer?.status, `a poll of ${traceId}`);
      }
    };
    await Promise.all(Array.from({ length: POLLERS }, poller));
  }

  const clients = [pollForever(), ...Array.from({ length: SUBMITTERS }, submitForever)];
  const failed = new Promise<never>((_, reject) => {
    for (const each of clients) each.catch(reject);
  });
  failed.catch(() => {});
  return {
    admit(jobs) {
      admitted = Math.max(admitted, jobs);
    },
    async allSubmitted() {
      while (book.acknowledged < admitted || underWay > 0) await pause(IDLE_MS, undefined, { signal });
    },
    pollAll: () => pollThese([...book.entries.values()], true),
    get ended() {
      return [...book.entries.values()].filter(
        ({ job, acknowledged, posts, results }) =>
          acknowledged && (job.answer === "poll" ? results.length > 0 : posts.some(({ accepted }) => accepted)),
      ).length;
    },
    get expected() {
      return [...book.entries.values()].filter(
        ({ job, acknowledged }) => acknowledged && job.answer !== "deaf" && job.file !== "killer",
      ).length;
    },
    get refused() {
      return refused;
    },
    failed,
  };
}
