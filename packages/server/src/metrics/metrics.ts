import { type Afterwards, atOnce } from "../flow/afterwards.ts";
import { type Log, type LogEvent, type LogFields, logEvents } from "../log.ts";
import { boundedOwners } from "./bounded-owners.ts";
import type { Family } from "./cells.ts";
import { counter, histogram } from "./cells.ts";
import { type Gauge, gaugeFamily } from "./gauges.ts";
import {
  callbackCode,
  endpointLabel,
  KNOWN_ENDPOINTS,
  KNOWN_REQUESTS,
  methodLabel,
  SETTLEMENTS,
  statusClass,
} from "./labels.ts";
import { processFamilies } from "./process-metrics.ts";
import { type ScanMeter, scanMeter } from "./scan-meter.ts";

/**
 * Counts what happens. Each request, job run, callback try and failed action is a line of the log, and one step of a counter; how long the
 * steps of a scan took is said to `meter`.
 */
export interface Metrics {
  /** Passes lines on, whatever level is written, and counts them. */
  counted(log: Log): Log;
  meter: ScanMeter;
  /** Adds values that are asked for. */
  watch(gauges: readonly Gauge[]): void;
  /** Asks for the gauges and answers all. A gauge that cannot be asked is left out. */
  families(): Promise<Family[]>;
}

export interface MetricsOptions {
  /** Which engine variant scans. */
  engine: string;
  /** When what happened is counted; at once by default. */
  after?: Afterwards | undefined;
}

export function metrics({ engine, after = atOnce }: MetricsOptions): Metrics {
  const gauges: Gauge[] = [];
  const requests = counter("lazaret_requests_total", KNOWN_REQUESTS);
  const requestSeconds = histogram("lazaret_request_duration_seconds", KNOWN_ENDPOINTS);
  const waitSeconds = histogram("lazaret_queue_wait_seconds", [["sync"], ["async"]]);
  const runs = counter(
    "lazaret_job_runs_total",
    SETTLEMENTS.flatMap((settlement) =>
      ["clean", "infected", "unscannable", "none"].map((verdict) => [settlement, verdict]),
    ),
  );
  const callbacks = counter("lazaret_callbacks_total", [["2xx", "none"]]);
  const callbackSeconds = histogram("lazaret_callback_duration_seconds", [["true"], ["false"]]);
  const expired = counter("lazaret_dead_letters_expired_total", [[]]);
  const failedActions = counter("lazaret_object_action_failures_total", [[]]);
  const errorLines = counter(
    "lazaret_error_lines_total",
    logEvents.map((event) => [event]),
  );
  const ofTenants = {
    request: counter("lazaret_tenant_requests_total"),
    job: counter("lazaret_tenant_job_runs_total"),
    callback: counter("lazaret_tenant_callbacks_total"),
  };
  const meter = scanMeter(engine, waitSeconds, after);
  const boundedOwner = boundedOwners();

  function ownerOf({ tenant, key }: LogFields): [tenant: string, key: string | undefined] | undefined {
    if (tenant === undefined) return undefined;
    const owner = boundedOwner({ tenant: String(tenant), key: key === undefined ? undefined : String(key) });
    return [owner.tenant, owner.key];
  }

  function countRequest(fields: LogFields): void {
    const { method, status, ms, endpoint } = fields as { [name: string]: string | number | undefined };
    requests.add([methodLabel(method), status]);
    if (typeof ms === "number") requestSeconds.observe([endpointLabel(endpoint), statusClass(status)], ms / 1000);
    const owner = ownerOf(fields);
    if (owner) ofTenants.request.add([...owner, status]);
  }

  function countRun(fields: LogFields): void {
    const { settlement, verdict = "none", waited_ms: waitedMs } = fields as { [name: string]: string | undefined };
    runs.add([settlement, verdict]);
    if (waitedMs !== undefined) waitSeconds.observe(["async"], Number(waitedMs) / 1000);
    const owner = ownerOf(fields);
    if (owner) ofTenants.job.add([...owner, settlement, verdict]);
  }

  function countCallback(fields: LogFields): void {
    const delivered = String(fields.delivered ?? false);
    callbacks.add([statusClass(fields.status), callbackCode(fields.code)]);
    if (typeof fields.ms === "number") callbackSeconds.observe([delivered], fields.ms / 1000);
    const owner = ownerOf(fields);
    if (owner) ofTenants.callback.add([...owner, delivered]);
  }

  const counts: Partial<Record<LogEvent, (fields: LogFields) => void>> = {
    request: countRequest,
    job: countRun,
    callback: countCallback,
    dead_letter_expired: () => expired.add([]),
    object_action: () => failedActions.add([]),
  };
  const all = [requests, requestSeconds, waitSeconds, runs, callbacks, callbackSeconds, expired, failedActions];

  return {
    counted(log) {
      const counting =
        (say: Log | Log["error"]) =>
        (event: LogEvent, fields?: LogFields): void => {
          const count = counts[event];
          if (count) after.add(() => count(fields ?? {}));
          say(event, fields);
        };
      const error = counting(log.error);
      return Object.assign(counting(log), {
        error(event: LogEvent, fields?: LogFields) {
          errorLines.add([event]);
          error(event, fields);
        },
        debug: counting(log.debug),
      });
    },

    meter,

    watch: (more) => void gauges.push(...more),

    async families() {
      after.catchUp();
      return [
        ...[...all, ...meter.parts, errorLines, ...Object.values(ofTenants)].map((each) => each.family()),
        ...(await Promise.all(gauges.map(gaugeFamily))),
        ...(await processFamilies()),
      ];
    },
  };
}
