import type { Gauge } from "../metrics.ts";
import type { ReceiverCounts } from "../platforms/shared/messages/fan-out.ts";
import type { JobQueue } from "../queue/job-queue.ts";

const QUEUE = {
  ready: ["lazaret_queue_ready", "Jobs that wait for a worker."],
  leased: ["lazaret_queue_leased", "Jobs under way."],
  delayed: ["lazaret_queue_delayed", "Jobs that wait for their time."],
  buried: ["lazaret_queue_buried", "Dead letters."],
  oldestSeconds: ["lazaret_queue_oldest_seconds", "How long the oldest job that could run has waited."],
} as const;

/** What can be asked of the queue: of a service or a database that has other things to do. */
export function queueGauges(counts: JobQueue["counts"]): Gauge[] {
  return Object.entries(QUEUE).map(([name, [metric, help]]) => ({
    name: metric,
    help,
    type: "gauge",
    read: async () => [{ value: (await counts())[name as keyof typeof QUEUE] }],
  }));
}

const RECEIVERS = {
  waiting: ["lazaret_outbox_waiting", "Messages that wait for a receiver.", "gauge"],
  oldestSeconds: ["lazaret_outbox_oldest_seconds", "How long the oldest of them has waited.", "gauge"],
  sent: ["lazaret_outbox_sent_total", "Messages sent.", "counter"],
  failedTries: ["lazaret_outbox_failed_tries_total", "Tries to send that failed.", "counter"],
  dropped: ["lazaret_outbox_dropped_total", "Messages dropped: too old, or too many for a receiver.", "counter"],
} as const;

/** How it stands with subscribers and event targets. Their addresses may hold secrets and are not shown. */
export function receiverGauges(counts: () => Promise<readonly ReceiverCounts[]>): Gauge[] {
  return Object.entries(RECEIVERS).map(([name, [metric, help, type]]) => ({
    name: metric,
    help,
    type,
    read: async () =>
      (await counts()).map((receiver) => ({
        labels: {
          receiver: receiver.receiver,
          of: receiver.configured?.of ?? "none",
          protocol: receiver.configured?.protocol ?? "none",
        },
        value: receiver[name as keyof typeof RECEIVERS],
      })),
  }));
}
