import type { Gauge } from "../metrics.ts";
import type { JobQueue } from "../queue/job-queue.ts";

const QUEUE = {
  ready: ["lazaret_queue_ready", "Jobs that wait for a worker."],
  leased: ["lazaret_queue_leased", "Jobs under way."],
  delayed: ["lazaret_queue_delayed", "Jobs that wait for their time."],
  buried: ["lazaret_queue_buried", "Dead letters."],
  oldestSeconds: ["lazaret_queue_oldest_seconds", "How long the oldest job that could run has waited."],
} as const;

/** What can be asked of the queue. */
export function queueGauges(queue: Pick<JobQueue, "counts">): Gauge[] {
  return Object.entries(QUEUE).map(([name, [metric, help]]) => ({
    name: metric,
    help,
    type: "gauge",
    read: async () => [{ value: (await queue.counts())[name as keyof typeof QUEUE] }],
  }));
}
