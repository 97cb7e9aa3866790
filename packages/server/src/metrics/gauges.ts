import { catalog, type MetricName, type MetricSpec } from "./catalog.ts";
import type { Family } from "./cells.ts";

/** A value that is asked for when somebody reads the metrics. */
export interface Gauge {
  name: MetricName;
  /** One value for each set of labels. */
  read(): Promise<readonly { labels?: Record<string, string | number>; value: number }[]>;
}

/** Without values where it cannot be asked. */
export async function gaugeFamily({ name, read }: Gauge): Promise<Family> {
  const { help, type }: MetricSpec = catalog[name];
  const values = await read().catch(() => []);
  return { name, help, type, values: values.map(({ labels = {}, value }) => ({ labels, value })) };
}

const one = (value: number): { value: number }[] => [{ value }];

/** What runs here. */
export function buildGauge(
  labels: Readonly<Record<"version" | "node" | "engine" | "platform" | "role", string>>,
): Gauge {
  return { name: "lazaret_build_info", read: async () => [{ labels, value: 1 }] };
}

interface State {
  ready: boolean;
  checks: readonly {
    signatureAgeSeconds?: number;
    databases?: readonly { name: string; builtAt?: number }[];
    refusedAt?: number;
  }[];
}

interface HealthGaugesOptions {
  /** False as soon as it stops. */
  running(): boolean;
  state(): Promise<State>;
  /** Milliseconds since 1970. */
  now(): number;
}

/** Files of signatures with a label of their own: more than ClamAV and those who add to it have. */
const MOST_DATABASES = 50;

/** What readiness says: of several parts of an engine the oldest signatures count. */
export function healthGauges({ running, state, now }: HealthGaugesOptions): Gauge[] {
  return [
    { name: "lazaret_ready", read: async () => one(running() && (await state()).ready ? 1 : 0) },
    {
      name: "lazaret_signature_age_seconds",
      async read() {
        const ages = (await state()).checks.flatMap(({ signatureAgeSeconds }) => signatureAgeSeconds ?? []);
        return ages.length === 0 ? [] : one(Math.max(...ages));
      },
    },
    {
      name: "lazaret_signatures_refused",
      read: async () => one((await state()).checks.some(({ refusedAt }) => refusedAt !== undefined) ? 1 : 0),
    },
    {
      name: "lazaret_signature_database_age_seconds",
      async read() {
        const databases = (await state()).checks.flatMap(({ databases = [] }) => databases);
        const dated = databases.flatMap(({ name, builtAt }) => (builtAt === undefined ? [] : { name, builtAt }));
        return dated.slice(0, MOST_DATABASES).map(({ name, builtAt }) => ({
          labels: { database: name },
          value: Math.max(0, now() - builtAt) / 1000,
        }));
      },
    },
  ];
}

/** Requests of the synchronous API, and the slots that they share. */
export function lineGauges(slots: number, counts: () => Readonly<{ scanning: number; waiting: number }>): Gauge[] {
  return [
    { name: "lazaret_sync_scanning", read: async () => one(counts().scanning) },
    { name: "lazaret_sync_waiting", read: async () => one(counts().waiting) },
    { name: "lazaret_sync_slots", read: async () => one(slots) },
  ];
}

const QUEUE = {
  ready: "lazaret_queue_ready",
  leased: "lazaret_queue_leased",
  delayed: "lazaret_queue_delayed",
  buried: "lazaret_queue_buried",
  oldestSeconds: "lazaret_queue_oldest_seconds",
} as const;

/** What can be asked of the queue: of a service or a database that has other things to do. */
export function queueGauges(counts: () => Promise<Readonly<Record<keyof typeof QUEUE, number>>>): Gauge[] {
  return Object.entries(QUEUE).map(([field, name]) => ({
    name,
    read: async () => one((await counts())[field as keyof typeof QUEUE]),
  }));
}

/** How often a verdict was known before the scan. */
export function cacheGauges(
  counts: () => Readonly<{ hits: number; partHits: number; misses: number; entries: number }>,
): Gauge[] {
  return [
    {
      name: "lazaret_verdict_cache_hits_total",
      read: async () => [
        { labels: { part: "all" }, value: counts().hits },
        { labels: { part: "ours" }, value: counts().partHits },
      ],
    },
    { name: "lazaret_verdict_cache_misses_total", read: async () => one(counts().misses) },
    { name: "lazaret_verdict_cache_entries", read: async () => one(counts().entries) },
  ];
}

const RECEIVERS = {
  waiting: "lazaret_outbox_waiting",
  oldestSeconds: "lazaret_outbox_oldest_seconds",
  sent: "lazaret_outbox_sent_total",
  failedTries: "lazaret_outbox_failed_tries_total",
  dropped: "lazaret_outbox_dropped_total",
} as const;

type Receiver = Readonly<Record<keyof typeof RECEIVERS, number>> & {
  receiver: string;
  configured?: { of: string; protocol: string } | undefined;
};

/** How it stands with subscribers and event targets. Their addresses may hold secrets and are not shown. */
export function receiverGauges(counts: () => Promise<readonly Receiver[]>): Gauge[] {
  return Object.entries(RECEIVERS).map(([field, name]) => ({
    name,
    read: async () =>
      (await counts()).map((receiver) => ({
        labels: {
          receiver: receiver.receiver,
          of: receiver.configured?.of ?? "none",
          protocol: receiver.configured?.protocol ?? "none",
        },
        value: receiver[field as keyof typeof RECEIVERS],
      })),
  }));
}
