import { type CallbackSender, type CallbackSenderOptions, callbackSender } from "../../src/deliver/callback.ts";
import type { LogFields } from "../../src/log.ts";
import { type Job, noFailures } from "../../src/model/job.ts";
import type { Report } from "../../src/model/report.ts";
import { addressGuard } from "../../src/net/address-guard.ts";
import { guardedConnector } from "../../src/net/guarded-connector.ts";

export const cleanReport: Report = {
  verdict: { kind: "clean" },
  sizeBytes: 4096,
  downloadSeconds: 0.2144,
  scanSeconds: 1.03,
};

/** A scanned job that is to be delivered to this URL. */
export function jobFor(
  url: string,
  headers: Record<string, string> = {},
  rest: Partial<Job> = {},
): Job & { report: Report } {
  return {
    id: "5c0f3a52-job",
    submittedAt: 1_767_225_600_000,
    tenant: "default",
    key: "key-1",
    traceId: "order-4711",
    source: { kind: "url", url: "https://files.example.com/report.pdf?token=t", headers: {} },
    callback: { url, headers },
    ...noFailures,
    ...rest,
    report: rest.report ?? cleanReport,
  };
}

/** A clock that moves by being told only: sleeping takes no time, but the clock has gone on. */
interface ToldClock {
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** What was slept, in milliseconds. */
  readonly slept: number[];
}

function toldClock(startedAt = 1_767_225_600_000): ToldClock {
  let now = startedAt;
  const slept: number[] = [];
  return {
    now: () => now,
    async sleep(ms, signal) {
      signal.throwIfAborted();
      slept.push(ms);
      now += ms;
    },
    slept,
  };
}

export interface TriedSender extends CallbackSender, AsyncDisposable {
  readonly clock: ToldClock;
  /** One line for each POST. */
  readonly logged: LogFields[];
}

/** The real sender behind the real address guard, which lets it reach 127.0.0.1; with a told clock and no jitter. */
export function trySender(
  options: Partial<CallbackSenderOptions> & { ca?: string; allowNetworks?: string[]; realSleep?: boolean } = {},
): TriedSender {
  const clock = toldClock();
  const logged: LogFields[] = [];
  const guard = addressGuard({ allowNetworks: options.allowNetworks ?? ["127.0.0.1/32"], allowHosts: [] });
  const sender = callbackSender({
    connector: (signal) => guardedConnector({ guard, ...(options.ca !== undefined && { ca: options.ca }) }, signal),
    version: "1.2.3",
    log: (event, fields) => void (event === "callback" && logged.push({ event, ...fields })),
    now: clock.now,
    ...(!options.realSleep && { sleep: clock.sleep }),
    random: () => 0.5,
    hangsAfterMs: 600_000,
    ...options,
  });
  return { ...sender, clock, logged, [Symbol.asyncDispose]: sender.close };
}
