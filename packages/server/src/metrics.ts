import type { Log, LogEvent, LogFields } from "./log.ts";
import { OTHER_TENANTS } from "./model/tenant.ts";

/**
 * Counts the lines of the log: each request, job run, callback try and failed action is one, and one step of a counter.
 * As text in the format that Prometheus reads.
 */
export interface Metrics {
  /** Passes lines on, whatever level is written, and counts them. */
  counted(log: Log): Log;
  /** Adds values that are asked for. */
  watch(gauges: readonly Gauge[]): void;
  /** Asks for the gauges and writes all; `own` leaves out what all processes of the service share. A gauge that cannot be asked is left out. */
  text(which?: "all" | "own"): Promise<string>;
}

/** A value that is asked for when somebody reads the metrics. */
export interface Gauge {
  name: string;
  help: string;
  type: "gauge" | "counter";
  /** Of this process alone, so that those of all processes are added up; others are of a store that they share. */
  own?: boolean;
  /** One value for each set of labels. */
  read(): Promise<readonly { labels?: Labels; value: number }[]>;
}

type Labels = Readonly<Record<string, string | number | boolean>>;

/** The log's events that are counted, and the fields that become labels: none of them a client's own words. */
const counters = {
  request: { name: "lazaret_requests_total", help: "Requests answered.", labels: ["method", "status"] },
  job: { name: "lazaret_job_runs_total", help: "Runs of queued jobs.", labels: ["settlement", "verdict"] },
  callback: { name: "lazaret_callbacks_total", help: "POSTs to callback URLs.", labels: ["status", "code"] },
  dead_letter_expired: {
    name: "lazaret_dead_letters_expired_total",
    help: "Dead letters that were deleted because nobody wanted them for so long.",
    labels: [],
  },
  object_action: {
    name: "lazaret_object_action_failures_total",
    help: "Tags and deletes of objects that failed.",
    labels: [],
  },
} as const;

/** The same by tenant and key, in metrics of their own: not everybody may know whose there are, see metrics-sum.ts. */
const tenantCounters = {
  request: { name: "lazaret_tenant_requests_total", help: "Requests with a key, by its tenant.", labels: ["status"] },
  job: { name: "lazaret_tenant_job_runs_total", help: "Runs of a tenant's jobs.", labels: ["settlement", "verdict"] },
  callback: { name: "lazaret_tenant_callbacks_total", help: "POSTs of a tenant's results.", labels: ["delivered"] },
} as const;

const METHODS = ["GET", "HEAD", "POST"];
/** So many have a label of their own; a time series for each of any number would be too much for Prometheus. */
const MOST_TENANTS = 200;
const MOST_KEYS = 1000;

interface Owner {
  tenant: string;
  /** Of what nobody with a key asked for there is none. */
  key: string | undefined;
}

/** Tenants and keys as labels: those that came first by their names, and the rest as one. */
export function boundedOwners(): (owner: Owner) => Owner {
  const tenants = new Set<string>([OTHER_TENANTS]);
  const keys = new Set<string>();
  const known = (names: Set<string>, name: string, most: number): boolean => {
    if (names.size < most) names.add(name);
    return names.has(name);
  };
  return ({ tenant, key }) => {
    if (!known(tenants, tenant, MOST_TENANTS + 1)) return { tenant: OTHER_TENANTS, key: key && OTHER_TENANTS };
    return { tenant, key: key && !known(keys, `${tenant} ${key}`, MOST_KEYS) ? OTHER_TENANTS : key };
  };
}

export function metrics(): Metrics {
  const gauges: Gauge[] = [];
  const counts = new Map(Object.keys(counters).map((event) => [event, nothingCounted()]));

  const boundedOwner = boundedOwners();
  const tenantCounts = new Map(Object.keys(tenantCounters).map((event) => [event, nothingCounted()]));

  function count(event: string, fields: LogFields = {}): void {
    const all = counts.get(event);
    if (!all) return;
    step(all, counters[event as keyof typeof counters].labels, fields);
    const ofTenants = fields.tenant === undefined ? undefined : tenantCounts.get(event);
    if (!ofTenants) return;
    const asked = fields.key === undefined ? undefined : String(fields.key);
    const { tenant, key } = boundedOwner({ tenant: String(fields.tenant), key: asked });
    step(next(next(ofTenants, tenant), key), tenantCounters[event as keyof typeof tenantCounters].labels, fields);
  }

  function step(counted: Counted, labels: readonly string[], fields: LogFields): void {
    let at = counted;
    for (const name of labels) {
      const field = fields[name];
      const given = field === undefined ? undefined : String(field);
      const value = name === "method" && given !== undefined && !METHODS.includes(given) ? "other" : given;
      at = next(at, value);
    }
    at.count += 1;
  }

  return {
    counted(log) {
      const counting =
        (say: Log | Log["error"]) =>
        (event: LogEvent, fields?: LogFields): void => {
          count(event, fields);
          say(event, fields);
        };
      return Object.assign(counting(log), { error: counting(log.error), debug: counting(log.debug) });
    },

    watch: (more) => void gauges.push(...more),

    async text(which = "all") {
      const blocks = [
        ...Object.entries(counters).map(([event, counter]) => counterBlock(counter, counts.get(event))),
        ...Object.entries(tenantCounters).map(([event, counter]) =>
          counterBlock({ ...counter, labels: ["tenant", "key", ...counter.labels] }, tenantCounts.get(event)),
        ),
      ];
      const asked = await Promise.all(
        gauges
          .filter(({ own = false }) => own || which === "all")
          .map(async (gauge) => {
            const values = await gauge.read().catch(() => []);
            return block(
              gauge,
              values.map(({ labels = {}, value }) => `${gauge.name}${labelText(labels)} ${value}`),
            );
          }),
      );
      return [...blocks, ...asked].join("");
    },
  };
}

/** Those of an event with the same values of the labels so far, and those among them with one value of the next. */
interface Counted {
  count: number;
  further: Map<string | undefined, Counted>;
}

function nothingCounted(): Counted {
  return { count: 0, further: new Map() };
}

function next(counted: Counted, value: string | undefined): Counted {
  const known = counted.further.get(value);
  if (known) return known;
  const first = nothingCounted();
  counted.further.set(value, first);
  return first;
}

interface Counter {
  name: string;
  help: string;
  labels: readonly string[];
}

function counterBlock({ name, help, labels }: Counter, counted: Counted | undefined): string {
  const lines = [...countsBy(labels, counted)].map(([found, value]) => `${name}${found} ${value}`);
  return block({ name, help, type: "counter" }, lines);
}

function* countsBy(
  names: readonly string[],
  counted: Counted | undefined,
  labels: Labels = {},
): Generator<[labels: string, count: number]> {
  if (counted && counted.count > 0) yield [labelText(labels), counted.count];
  const [name = "", ...others] = names;
  for (const [value, next] of counted?.further ?? [])
    yield* countsBy(others, next, value === undefined ? labels : { ...labels, [name]: value });
}

function block({ name, help, type }: Pick<Gauge, "name" | "help" | "type">, lines: readonly string[]): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].map((line) => `${line}\n`).join("");
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/** Each process is one; the sum says how many told their counts. */
export const processGauge: Gauge = {
  name: "lazaret_processes",
  help: "Processes whose counts are in these metrics.",
  type: "gauge",
  own: true,
  read: async () => [{ value: 1 }],
};

const QUEUE = {
  ready: ["lazaret_queue_ready", "Jobs that wait for a worker."],
  leased: ["lazaret_queue_leased", "Jobs under way."],
  delayed: ["lazaret_queue_delayed", "Jobs that wait for their time."],
  buried: ["lazaret_queue_buried", "Dead letters."],
  oldestSeconds: ["lazaret_queue_oldest_seconds", "How long the oldest job that could run has waited."],
} as const;

/** What can be asked of the queue: of a service or a database that has other things to do. */
export function queueGauges(counts: () => Promise<Readonly<Record<keyof typeof QUEUE, number>>>): Gauge[] {
  return Object.entries(QUEUE).map(([name, [metric, help]]) => ({
    name: metric,
    help,
    type: "gauge",
    read: async () => [{ value: (await counts())[name as keyof typeof QUEUE] }],
  }));
}

/** How often a verdict was known before the scan. */
export function cacheGauges(
  counts: () => Readonly<{ hits: number; partHits: number; misses: number; entries: number }>,
): Gauge[] {
  const one = (value: number): { value: number }[] => [{ value }];
  return [
    {
      name: "lazaret_verdict_cache_hits_total",
      help: "Files whose verdict was known; of part `ours`, all but what clamd says to the file as it is.",
      type: "counter",
      own: true,
      read: async () => [
        { labels: { part: "all" }, value: counts().hits },
        { labels: { part: "ours" }, value: counts().partHits },
      ],
    },
    {
      name: "lazaret_verdict_cache_misses_total",
      help: "Files that were looked for in the cache and not found.",
      type: "counter",
      own: true,
      read: async () => one(counts().misses),
    },
    {
      name: "lazaret_verdict_cache_entries",
      help: "Contents that are remembered.",
      type: "gauge",
      own: true,
      read: async () => one(counts().entries),
    },
  ];
}

const RECEIVERS = {
  waiting: ["lazaret_outbox_waiting", "Messages that wait for a receiver.", "gauge"],
  oldestSeconds: ["lazaret_outbox_oldest_seconds", "How long the oldest of them has waited.", "gauge"],
  sent: ["lazaret_outbox_sent_total", "Messages sent.", "counter"],
  failedTries: ["lazaret_outbox_failed_tries_total", "Tries to send that failed.", "counter"],
  dropped: ["lazaret_outbox_dropped_total", "Messages dropped: too old, or too many for a receiver.", "counter"],
} as const;

type Receiver = Readonly<Record<keyof typeof RECEIVERS, number>> & {
  receiver: string;
  configured?: { of: string; protocol: string } | undefined;
};

/** How it stands with subscribers and event targets. Their addresses may hold secrets and are not shown. */
export function receiverGauges(counts: () => Promise<readonly Receiver[]>): Gauge[] {
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
