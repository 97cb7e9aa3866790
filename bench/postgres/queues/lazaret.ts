import type { LogEvent } from "../../../packages/server/src/log.ts";
import { openJobStore } from "../../../packages/server/src/platforms/postgres/job-store.ts";
import { startWorker } from "../../../packages/server/src/queue/worker.ts";
import { jobAt } from "../../queue/million.ts";
import type { OpenQueue } from "../queue-program.ts";

const REPORT = { verdict: { kind: "clean" }, sizeBytes: 4096, downloadSeconds: 0.01, scanSeconds: 0.01 } as const;

/** Everything that it does for a job is on: what clients sent is sealed, results are kept, shares are kept apart. */
export const open: OpenQueue = async (url) => {
  const store = await openJobStore({ url, pool: 4, schema: "lazaret", secretKey: Buffer.alloc(32, 7), migrate: true });
  return {
    // Even numbers have a trace id, by which the result can be asked for.
    add: (index) => store.queue.add(jobAt(2 * index)),
    async work(jobsAtOnce, onDone) {
      const worker = startWorker({
        queue: store.queue,
        jobsAtOnce,
        deliveriesAtOnce: jobsAtOnce,
        log: Object.assign((event: LogEvent) => event === "job" && onDone(), { error: console.error, debug() {} }),
        async run({ job: { id: jobId, tenant, traceId = "", submittedAt } }) {
          await store.results.keep({ tenant, traceId, jobId, submittedAt }, REPORT);
          return { kind: "done" };
        },
      });
      return () => worker.stop(1000);
    },
    close: store.close,
  };
};
