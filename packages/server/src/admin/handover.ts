import type { AdminEvent, AdminScan, Verdict } from "@lazaret/contract/admin";
import { type Activity, type Counting, MOST_RECENT, stepOf } from "./activity.ts";
import type { EventHub, Telling } from "./events.ts";
import type { Watch } from "./watch.ts";

/**
 * What one of several processes hands to the first, which shows the work of all:
 *
 *   watch ─▶ added up ─▶ four times a second, if there is something ─▶ activity and events of the first
 *
 * It is bounded, and what cannot be handed over is dropped: nobody waits for it, and lists are read from the store.
 */
export interface Seen {
  /** Its number among them. */
  process: number;
  /** How many of each verdict took about so long. */
  scans: readonly (readonly [verdict: Verdict, ms: number, count: number])[];
  /** Times that the engine could not be asked. */
  failed: number;
  /** The newest scans without a job, the oldest of them first. */
  recent: readonly AdminScan[];
  events: readonly AdminEvent[];
  /** There was more, while nobody was known to listen. */
  missed: boolean;
  work: Work;
  failedActions: readonly (readonly [bucket: string, count: number])[];
}

/** What a process has under way, and room for. */
export interface Work {
  underWay: Watch["underWay"];
  slots: { requests: number; jobs: number };
}

/** What is known of the processes but the first, besides what is in its own activity and events. */
export interface OfOthers {
  /** Answers whether somebody listens. */
  take(seen: Seen): { heard: boolean };
  work(): Work[];
  failedActions(): ReadonlyMap<string, number>[];
}

const EVERY_MS = 250;
/** Even if there is nothing to say, to hear whether somebody listens. */
const IDLE_MS = 1000;
const MOST_EVENTS = 500;
/** Who has said nothing for so long is gone. */
const SILENT_MS = 10_000;

interface HandoverOptions {
  process: number;
  send(seen: Seen): Promise<{ heard: boolean }>;
  /** Does what is still to be noted. */
  catchUp(): void;
}

export interface Handover {
  activity: Counting;
  hub: Telling;
  /** From now on what was seen is handed over; at the end once more. */
  start(now: () => Pick<Seen, "work" | "failedActions">): AsyncDisposable;
}

export function handover({ process, send, catchUp }: HandoverOptions): Handover {
  let scans = new Map<string, [Verdict, number, number]>();
  let failed = 0;
  let recent: AdminScan[] = [];
  let events = new Map<string, AdminEvent>();
  let missed = false;
  let heard = false;
  let soon = (): void => {};

  function take(): Omit<Seen, "work" | "failedActions"> {
    catchUp();
    const taken = { process, scans: [...scans.values()], failed, recent, events: [...events.values()], missed };
    scans = new Map();
    failed = 0;
    recent = [];
    events = new Map();
    missed = false;
    return taken;
  }

  return {
    activity: {
      scanned({ verdict, ms }, count = 1) {
        const key = `${verdict} ${stepOf(ms)}`;
        const known = scans.get(key);
        if (known) known[2] += count;
        else scans.set(key, [verdict, ms, count]);
        soon();
      },
      noteScan(scan) {
        recent.push(scan);
        // Cut off in pieces: one at a time would move all the others for each scan.
        if (recent.length >= 2 * MOST_RECENT) recent = recent.slice(-MOST_RECENT);
        soon();
      },
      failed(count = 1) {
        failed += count;
        soon();
      },
    },
    hub: {
      get heard() {
        return heard;
      },
      publish(event) {
        // The first makes them of the scans themselves.
        if (event.type === "scan") return;
        if (!heard) missed = true;
        else keep(event);
        soon();
      },
      missed() {
        missed = true;
        soon();
      },
    },
    start(now) {
      let timer: NodeJS.Timeout | undefined;
      let something = false;
      let ended = false;
      let sending: Promise<void> | undefined;

      function wait(ms: number): void {
        clearTimeout(timer);
        if (!ended) timer = setTimeout(() => void handOver(), ms).unref();
      }

      async function handOver(): Promise<void> {
        something = false;
        sending = sendSeen();
        await sending;
        sending = undefined;
        wait(something ? EVERY_MS : IDLE_MS);
      }

      async function sendSeen(): Promise<void> {
        try {
          ({ heard } = await send({ ...take(), ...now() }));
        } catch {
          // The first is being started again, or has no time.
          heard = false;
          missed = true;
        }
      }

      soon = () => {
        if (something) return;
        something = true;
        if (!sending) wait(EVERY_MS);
      };
      wait(0);
      return {
        async [Symbol.asyncDispose]() {
          ended = true;
          clearTimeout(timer);
          await sending;
          await sendSeen();
        },
      };
    },
  };

  function keep(event: AdminEvent): void {
    const key = event.type === "job" ? `job ${event.job.id}` : `${events.size} ${event.type}`;
    if (events.size >= MOST_EVENTS && !events.has(key)) return;
    events.delete(key);
    events.set(key, event);
  }
}

export interface OfOthersOptions {
  activity: Activity;
  hub: EventHub;
  now(): number;
}

export function ofOthers({ activity, hub, now }: OfOthersOptions): OfOthers {
  const last = new Map<number, Pick<Seen, "work" | "failedActions"> & { at: number }>();
  const present = (): Pick<Seen, "work" | "failedActions">[] =>
    [...last.values()].filter(({ at }) => now() - at < SILENT_MS);
  return {
    take({ process, scans, failed, recent, events, missed, work, failedActions }) {
      last.set(process, { work, failedActions, at: now() });
      for (const [verdict, ms, count] of scans) activity.scanned({ verdict, ms }, count);
      if (failed > 0) activity.failed(failed);
      for (const scan of recent) {
        activity.noteScan(scan);
        hub.publish({ type: "scan", scan });
      }
      for (const event of events) hub.publish(event);
      if (missed) hub.missed();
      return { heard: hub.heard };
    },
    work: () => present().map(({ work }) => work),
    failedActions: () => present().map((each) => new Map(each.failedActions)),
  };
}
