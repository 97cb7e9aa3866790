import type { AdminJob } from "@lazaret/contract/admin";
import type { Findings } from "../deliver/findings.ts";
import type { Afterwards } from "../flow/afterwards.ts";
import type { Log, LogFields } from "../log.ts";
import { EngineUnavailable } from "../model/faults.ts";
import type { Job } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { Settlement } from "../model/settlement.ts";
import type { OpenedSource, Source } from "../model/source.ts";
import type { Account } from "../model/tenant.ts";
import { statusOf } from "../model/verdict.ts";
import { type JobQueue, type Lease, newJobId } from "../queue/job-queue.ts";
import type { Engine } from "../scan/engine.ts";
import type { Span } from "../traces/spans.ts";
import type { Counting } from "./activity.ts";
import type { Telling } from "./events.ts";
import { type EndedScan, shownFinding, shownJob, shownScan, withoutSecrets } from "./shown.ts";

/**
 * Sees what this process does, from where it is written down anyway: nothing in the way of a file knows that somebody watches, and nothing
 * of what is watched is changed. What watches never throws.
 */
export interface Watch {
  queue(queue: JobQueue): JobQueue;
  findings(findings: Findings): Findings;
  stages<Stages extends WatchedStages>(stages: Stages): Stages;
  /** Of scans whose results somebody waits for. */
  scan<Asked extends { account: Account }>(scan: ScanOf<Asked>): ScanOf<Asked>;
  log(log: Log): Log;
  /** Requests that wait or are scanned, and jobs that are fetched or scanned. */
  readonly underWay: { requests: number; jobs: number };
  /** Tags and deletes that failed, by bucket. */
  readonly failedActions: ReadonlyMap<string, number>;
}

type ScanOf<Asked> = (source: Source, asked: Asked, stop: AbortController) => Promise<Report>;

interface WatchedStages {
  open(source: Source, signal: AbortSignal, span?: Span): Promise<OpenedSource>;
  engine: Engine;
}

export interface WatchOptions {
  activity: Counting;
  hub: Telling;
  now(): number;
  /** When scans are noted. */
  after: Afterwards;
}

/** Buckets whose failures are counted. */
const MOST_BUCKETS = 1000;

export function watch({ activity, hub, now, after }: WatchOptions): Watch {
  const underWay = { requests: 0, jobs: 0 };
  const failedActions = new Map<string, number>();
  /** Whose job a source is, for as long as it runs. */
  const jobs = new WeakMap<Source, () => void>();

  function tell(job: Job, state: AdminJob["state"], more: Tell = {}): void {
    if (!hub.heard) {
      hub.missed();
      return;
    }
    const { phase, ...shown } = more;
    hub.publish({ type: "job", job: shownJob(job, state, shown), ...(phase && { phase }) });
  }

  function watchedLease(lease: Lease): Lease {
    const { job, attempt } = lease;
    let isScanned = job.report !== undefined;
    let last = job;
    let isCounted = !isScanned;
    if (isCounted) underWay.jobs += 1;
    const as = { attempts: attempt };
    // Who comes to listen later hears of what it does next.
    if (hub.heard) jobs.set(job.source, () => tell(job, "under_way", { ...as, phase: "scanning" }));
    tell(job, "under_way", { ...as, phase: isScanned ? "delivering" : "downloading" });

    /** Those that deliver take no scanner's time. */
    function leave(): void {
      if (isCounted) underWay.jobs -= 1;
      isCounted = false;
    }

    function wrote(next: Job): void {
      last = next;
      const { report } = next;
      if (isScanned || !report) return;
      isScanned = true;
      leave();
      const ms = (report.downloadSeconds + report.scanSeconds) * 1000;
      activity.scanned({ verdict: statusOf(report.verdict), ms });
    }

    function ended(settlement: Settlement): void {
      wrote(settlement.job ?? last);
      if (settlement.kind === "done") tell(last, "done", { ...as, finished_at: now() });
      else if (settlement.kind === "buried") tell(last, "dead", { ...as, reason: settlement.reason });
      else {
        const { afterSeconds } = settlement;
        tell(last, afterSeconds > 0 ? "retrying" : "queued", {
          attempts: 0,
          due_at: now() + Math.round(afterSeconds * 1000),
        });
      }
    }

    return {
      job,
      attempt,
      extend: () => lease.extend(),
      async save(next) {
        const kept = await lease.save(next);
        if (kept) {
          wrote(next);
          if (next.report) tell(next, "under_way", { ...as, phase: "delivering" });
        }
        return kept;
      },
      async settle(settlement) {
        try {
          const kept = await lease.settle(settlement);
          if (kept) ended(settlement);
          return kept;
        } finally {
          leave();
        }
      },
    };
  }

  return {
    underWay,
    failedActions,

    queue: (queue) => ({
      ...queue,
      async add(job) {
        await queue.add(job);
        tell(job, "queued");
      },
      async take(limit, shares) {
        return (await queue.take(limit, shares)).map(watchedLease);
      },
    }),

    findings: (findings) => ({
      ...findings,
      async add(finding) {
        await findings.add(finding);
        if (hub.heard) hub.publish({ type: "finding", finding: shownFinding(finding) });
        else hub.missed();
      },
    }),

    stages: (stages) => ({
      ...stages,
      async open(source: Source, signal: AbortSignal, span?: Span) {
        const opened = await stages.open(source, signal, span);
        jobs.get(source)?.();
        return opened;
      },
      engine: {
        ...stages.engine,
        scan: (bytes, signal, digest) =>
          stages.engine.scan(bytes, signal, digest).catch((error) => {
            if (error instanceof EngineUnavailable) activity.failed();
            throw error;
          }),
      },
    }),

    scan: (scan) => async (source, asked, stop) => {
      const began = performance.now();
      underWay.requests += 1;
      try {
        const report = await scan(source, asked, stop);
        const { account } = asked;
        noteEnded({ at: now(), source: withoutSecrets(source), account, report, ms: performance.now() - began });
        return report;
      } finally {
        underWay.requests -= 1;
      }
    },

    log(log) {
      const error: Log["error"] = (event, fields) => {
        if (event === "object_action") noteFailedAction(fields);
        log.error(event, fields);
      };
      return Object.assign(((event, fields) => log(event, fields)) as Log, { error, debug: log.debug });
    },
  };

  /** Out of the way of the request, which would else be kept in memory until then with all that it has. */
  function noteEnded(ended: Omit<EndedScan, "id">): void {
    after.add(() => {
      const shown = shownScan({ ...ended, id: newJobId(ended.at) });
      activity.scanned(shown);
      activity.noteScan(shown);
      hub.publish({ type: "scan", scan: shown });
    });
  }

  function noteFailedAction(fields: LogFields = {}): void {
    const bucket = String(fields.bucket);
    if (failedActions.size < MOST_BUCKETS || failedActions.has(bucket)) {
      failedActions.set(bucket, (failedActions.get(bucket) ?? 0) + 1);
    }
  }
}

interface Tell extends Partial<AdminJob> {
  phase?: "downloading" | "scanning" | "delivering";
}
