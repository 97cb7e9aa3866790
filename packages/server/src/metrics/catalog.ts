/**
 * Every metric of our own, by its name: docs/monitoring.md shows this table. No label has a value that a client chooses: each is one
 * of a few words of ours, or is bounded (tenants and keys, see bounded-owners.ts).
 */
export interface MetricSpec {
  type: "counter" | "gauge" | "histogram";
  help: string;
  labels?: readonly string[];
  /** Upper bounds of a histogram, in seconds. */
  buckets?: readonly number[];
}

/** From a small file on a machine at rest to the time limit of the synchronous API. */
const OF_REQUESTS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** From a queue that is empty to links that are no longer good. */
const OF_WAITING = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200, 43_200];
const OF_DOWNLOADS = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900];
const OF_SCANS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
/** To the time limit of one POST. */
const OF_CALLBACKS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

export const catalog = {
  lazaret_build_info: {
    type: "gauge",
    help: "1; the labels say what runs.",
    labels: ["version", "node", "engine", "platform", "role"],
  },
  lazaret_ready: { type: "gauge", help: "1 when /readyz says ready, else 0." },

  lazaret_requests_total: { type: "counter", help: "Requests answered.", labels: ["method", "status"] },
  lazaret_request_duration_seconds: {
    type: "histogram",
    help: "From a request's headers to its answer.",
    labels: ["endpoint", "status"],
    buckets: OF_REQUESTS,
  },
  lazaret_sync_scanning: { type: "gauge", help: "Requests of the synchronous API that have a slot." },
  lazaret_sync_waiting: {
    type: "gauge",
    help: "Requests of the synchronous API whose bytes arrive or that wait for a slot.",
  },
  lazaret_sync_slots: { type: "gauge", help: "Slots of the synchronous API (LAZARET_CONCURRENCY)." },

  lazaret_scans_total: {
    type: "counter",
    help: "Files that came to a verdict, by the API or the bucket they came from.",
    labels: ["way", "source", "verdict"],
  },
  lazaret_scanned_bytes_total: { type: "counter", help: "Bytes of the files that engines have scanned." },
  lazaret_queue_wait_seconds: {
    type: "histogram",
    help: "How long jobs that were due waited for a worker (async), and requests whose bytes were there for a slot (sync).",
    labels: ["way"],
    buckets: OF_WAITING,
  },
  lazaret_download_duration_seconds: {
    type: "histogram",
    help: "Waiting for the bytes of a source; of an upload, for its client.",
    labels: ["source", "outcome"],
    buckets: OF_DOWNLOADS,
  },
  lazaret_scan_duration_seconds: {
    type: "histogram",
    help: "The engine's time for one file, by its variant and the size of the file; without waiting for bytes or a slot.",
    labels: ["engine", "size"],
    buckets: OF_SCANS,
  },
  lazaret_engine_part_duration_seconds: {
    type: "histogram",
    help: "Of clamd, from the last byte it was sent to its reply; of scan threads, unpacking and matching a file.",
    labels: ["part"],
    buckets: OF_SCANS,
  },
  lazaret_engine_failures_total: {
    type: "counter",
    help: "Scans that ended without a verdict: the engine was away or failed.",
  },
  lazaret_signature_age_seconds: { type: "gauge", help: "Age of the official signatures that clamd has loaded." },
  lazaret_signature_database_age_seconds: {
    type: "gauge",
    help: "Age of each file of signatures, where clamd's folder can be read.",
    labels: ["database"],
  },
  lazaret_signatures_refused: {
    type: "gauge",
    help: "1 while new signatures are not used because they failed their self-test, with LAZARET_CLAMD=own.",
  },
  lazaret_verdict_cache_hits_total: {
    type: "counter",
    help: "Files whose verdict was known; of part `ours`, all but what clamd says to the file as it is.",
    labels: ["part"],
  },
  lazaret_verdict_cache_misses_total: {
    type: "counter",
    help: "Files that were looked for in the cache and not found.",
  },
  lazaret_verdict_cache_entries: { type: "gauge", help: "Contents that are remembered." },

  lazaret_queue_ready: { type: "gauge", help: "Jobs that wait for a worker." },
  lazaret_queue_leased: { type: "gauge", help: "Jobs under way." },
  lazaret_queue_delayed: { type: "gauge", help: "Jobs that wait for their time." },
  lazaret_queue_buried: { type: "gauge", help: "Dead letters." },
  lazaret_queue_oldest_seconds: { type: "gauge", help: "How long the oldest job that could run has waited." },
  lazaret_job_runs_total: { type: "counter", help: "Runs of queued jobs.", labels: ["settlement", "verdict"] },
  lazaret_dead_letters_expiring: { type: "gauge", help: "Dead letters that are deleted within two days." },
  lazaret_dead_letters_expired_total: {
    type: "counter",
    help: "Dead letters that were deleted because nobody wanted them for so long.",
  },

  lazaret_callbacks_total: { type: "counter", help: "POSTs to callback URLs.", labels: ["status", "code"] },
  lazaret_callback_duration_seconds: {
    type: "histogram",
    help: "One POST to a callback URL, from the dial to the answer.",
    labels: ["delivered"],
    buckets: OF_CALLBACKS,
  },
  lazaret_object_action_failures_total: { type: "counter", help: "Tags and deletes of objects that failed." },
  lazaret_outbox_waiting: {
    type: "gauge",
    help: "Messages that wait for a receiver.",
    labels: ["receiver", "of", "protocol"],
  },
  lazaret_outbox_oldest_seconds: {
    type: "gauge",
    help: "How long the oldest of them has waited.",
    labels: ["receiver", "of", "protocol"],
  },
  lazaret_outbox_sent_total: { type: "counter", help: "Messages sent.", labels: ["receiver", "of", "protocol"] },
  lazaret_outbox_failed_tries_total: {
    type: "counter",
    help: "Tries to send that failed.",
    labels: ["receiver", "of", "protocol"],
  },
  lazaret_outbox_dropped_total: {
    type: "counter",
    help: "Messages dropped: too old, or too many for a receiver.",
    labels: ["receiver", "of", "protocol"],
  },
  lazaret_error_lines_total: { type: "counter", help: "Lines of the log with the level error.", labels: ["event"] },

  lazaret_tenant_requests_total: {
    type: "counter",
    help: "Requests with a key, by its tenant.",
    labels: ["tenant", "key", "status"],
  },
  lazaret_tenant_job_runs_total: {
    type: "counter",
    help: "Runs of a tenant's jobs.",
    labels: ["tenant", "key", "settlement", "verdict"],
  },
  lazaret_tenant_callbacks_total: {
    type: "counter",
    help: "POSTs of a tenant's results.",
    labels: ["tenant", "key", "delivered"],
  },
} as const satisfies Record<string, MetricSpec>;

export type MetricName = keyof typeof catalog;
