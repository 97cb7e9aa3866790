import type { Alarm } from "../../src/flow/alarm.ts";
import { shareOf, traceOf } from "../../src/model/job.ts";
import { jobCard } from "../../src/model/job-card.ts";
import type { Report } from "../../src/model/report.ts";
import type { Trace } from "../../src/model/tenant.ts";
import { pageOf } from "../../src/platforms/shared/page.ts";
import type {
  DeadLetter,
  DeadLetters,
  HeldShares,
  JobBrowser,
  JobEntry,
  JobQueue,
  Lease,
} from "../../src/queue/job-queue.ts";
import { type KeptParts, keepFinished } from "./memory-kept.ts";
import { dueAt, type QueueEntry, type QueueModel } from "./queue-model.ts";

export interface MemoryQueueParts extends KeptParts {
  storage: { model: QueueModel; results: Map<string, KeptResult>; bell: Alarm } & KeptParts["storage"];
  now(): number;
  /** Throws `QueueUnavailable` while nothing can be written. */
  write(): void;
}

/** Of the newest submission of a trace id. */
export interface KeptResult {
  jobId: string;
  report?: Report;
  until: number;
}

/** A tenant's name has no space. */
export function traceName({ tenant, traceId }: Trace): string {
  return `${tenant} ${traceId}`;
}

/** The model of the queue behind the queue's ports. */
export function memoryQueue(parts: MemoryQueueParts): JobQueue {
  const { storage, now, write } = parts;
  const { model, results, bell } = storage;

  async function changed<Value>(change: () => Value): Promise<Value> {
    write();
    const value = change();
    bell.ring();
    return value;
  }

  return {
    add: (job) =>
      changed(() => {
        model.add(job);
        const trace = traceOf(job);
        if (trace) results.set(traceName(trace), { jobId: job.id, until: 0 });
      }),
    async take(limit, shares) {
      write();
      return model.take(limit, shares).map(
        ({ job, attempt, lease }): Lease => ({
          job,
          attempt,
          extend: () => changed(() => model.extend(lease)),
          save: (saved) => changed(() => model.save(lease, saved)),
          settle: (settlement) =>
            changed(() => {
              const settled = model.settle(lease, settlement);
              if (settled && settlement.kind === "done" && settlement.job) keepFinished(parts, settlement.job, attempt);
              return settled;
            }),
        }),
      );
    },
    async wait(signal, shares?: HeldShares) {
      const ms = Math.min(1000, ...model.open(shares).map((entry) => dueAt(entry) - now()));
      if (ms > 0) await bell.sleep(ms, signal);
    },
    async counts() {
      const counts = { ready: 0, delayed: 0, leased: 0, buried: 0, oldestSeconds: 0 };
      for (const entry of model.entries()) {
        const state = model.stateOf(entry);
        counts[state] += 1;
        if (state === "ready") counts.oldestSeconds = Math.max(counts.oldestSeconds, (now() - dueAt(entry)) / 1000);
      }
      return counts;
    },
    async unfinished(share, upTo) {
      const unburied = model.entries().filter(({ job, reason }) => reason === undefined && shareOf(job) === share);
      return Math.min(upTo, unburied.length);
    },
  };
}

export function memoryDeadLetters({ storage: { model, bell }, write }: MemoryQueueParts): DeadLetters {
  const buried = (): QueueEntry[] => model.entries().filter(({ reason }) => reason !== undefined);
  return {
    async list({ limit, after = String(Number.MAX_SAFE_INTEGER) }) {
      const rows = buried().filter((entry) => entry.buried < Number(after));
      rows.sort((a, b) => b.buried - a.buried);
      return pageOf(rows, { limit, entryOf: letterOf, placeOf: (entry) => String(entry.buried) });
    },
    show: async (id) =>
      buried()
        .filter(({ job }) => job.id === id)
        .map(letterOf)[0],
    async redrive(ids, what) {
      write();
      const count = model.redrive(ids, what);
      bell.ring();
      return count;
    },
    async purge(ids) {
      write();
      return model.purge(ids);
    },
  };
}

export function memoryBrowser({ storage: { model } }: MemoryQueueParts): JobBrowser {
  const entryOf = (entry: QueueEntry): JobEntry => ({
    id: entry.job.id,
    state: model.stateOf(entry),
    submittedAt: entry.job.submittedAt,
    attempts: entry.attempts,
    dueAt: entry.reason === undefined ? dueAt(entry) : undefined,
    job: jobCard(entry.job),
    life: entry.job.life,
  });
  return {
    async list({ limit, after = String(Number.MAX_SAFE_INTEGER), state }) {
      const rows = model.entries().filter((entry) => state === undefined || model.stateOf(entry) === state);
      const older = rows.filter(({ added }) => added < Number(after)).toReversed();
      return pageOf(older, { limit, entryOf, placeOf: ({ added }) => String(added) });
    },
    async show(id) {
      const entry = model.entries().find(({ job }) => job.id === id);
      return entry && entryOf(entry);
    },
  };
}

function letterOf({ job, buriedAt, reason = "" }: QueueEntry): DeadLetter {
  return { id: job.id, submittedAt: job.submittedAt, buriedAt, reason, job: jobCard(job) };
}
