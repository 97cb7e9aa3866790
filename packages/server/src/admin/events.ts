import type { AdminEvent, AdminJobCounts } from "@lazaret/contract/admin";
import { Problem } from "../receive/problem.ts";

/**
 * Sends what happens in this process to those who listen, as server-sent events.
 *
 *   publish ─▶ numbered, kept in a ring ─▶ every stream
 *
 * Jobs are published four times a second, each as it is then, so that a job that runs through everything in a moment is one event. While
 * nobody listens, and nobody has a moment ago, nothing is kept: who comes back later than that is told to read everything again.
 */
export interface EventHub extends Disposable, Telling {
  /**
   * Ends with the signal, when its reader is too slow, or when another key that has far fewer streams needs one. Throws the 429
   * problem when the key has too many already, or when all are taken and shared fairly.
   */
  listen(lastId: string | undefined, signal: AbortSignal, key?: string): AsyncIterable<string>;
}

/** Where something happens that others may want to hear. */
export interface Telling {
  publish(event: AdminEvent): void;
  /** Something happened that is not published: nobody who comes back must believe to have heard everything. */
  missed(): void;
  /** Whether somebody listens: what is costly to make is made only then. */
  readonly heard: boolean;
}

export interface EventHubOptions {
  now(): number;
  /** Asked for every few seconds while somebody listens. */
  counts(): Promise<AdminJobCounts>;
  jobsEveryMs?: number;
  countsEveryMs?: number;
  pingEveryMs?: number;
}

const RING = 1000;
const MOST_STREAMS = 100;
/** A page has one, and several people may share a key. */
const MOST_OF_ONE = 10;
/** Characters that may wait for one reader, of texts that all streams share: a burst is no reason to drop somebody. */
const MOST_WAITING = 4 * 1024 * 1024;
/** …and that a reader is given at once. */
const PIECE = 64 * 1024;
const JOBS_EVERY_MS = 250;
const COUNTS_EVERY_MS = 2000;
const PING_EVERY_MS = 15_000;
/** A page that is reloaded, or a connection that broke, is back within that time. */
const KEPT_AFTER_MS = 60_000;
/** Jobs that wait for the next quarter of a second; the rest is seen when lists are read again. */
const MOST_JOBS_AT_ONCE = 500;

interface Kept {
  id: number;
  text: string;
}

interface Stream {
  key: string;
  send(text: string): void;
  end(): void;
}

export function eventHub(options: EventHubOptions): EventHub {
  const { now, counts, jobsEveryMs = JOBS_EVERY_MS, countsEveryMs = COUNTS_EVERY_MS } = options;
  const { pingEveryMs = PING_EVERY_MS } = options;
  /** Such that no other process has had the same ones. */
  let lastId = now() * 1000;
  let ring: Kept[] = [];
  let leftAt = Number.NEGATIVE_INFINITY;
  let jobs = new Map<string, AdminEvent>();
  let jobsTimer: NodeJS.Timeout | undefined;
  let timers: NodeJS.Timeout[] = [];
  let lastCounts = "";
  let closed = false;
  const streams = new Set<Stream>();

  function isHeard(): boolean {
    if (streams.size > 0) return true;
    if (now() - leftAt < KEPT_AFTER_MS) return true;
    if (ring.length > 0) ring = [];
    return false;
  }

  function send(event: AdminEvent): void {
    lastId += 1;
    const kept = { id: lastId, text: `id: ${lastId}\ndata: ${JSON.stringify(event)}\n\n` };
    ring.push(kept);
    // Cut off in pieces: one at a time would move all the others for each event.
    if (ring.length >= 2 * RING) ring = ring.slice(-RING);
    for (const stream of streams) stream.send(kept.text);
  }

  function skip(): void {
    lastId += 1;
  }

  function sendJobs(): void {
    jobsTimer = undefined;
    const waiting = jobs;
    jobs = new Map();
    for (const event of waiting.values()) send(event);
  }

  async function sendCounts(): Promise<void> {
    const event = await counts().catch(() => undefined);
    const text = JSON.stringify(event);
    if (!event || text === lastCounts || closed) return;
    lastCounts = text;
    send({ type: "counts", counts: event });
  }

  function startTimers(): void {
    if (timers.length > 0) return;
    const ping = (): void => {
      for (const stream of streams) stream.send(": ping\n\n");
    };
    timers = [setInterval(ping, pingEveryMs), setInterval(() => void sendCounts(), countsEveryMs)];
    for (const timer of timers) timer.unref();
  }

  function stopTimers(): void {
    for (const timer of timers) clearInterval(timer);
    timers = [];
  }

  /** What was missed, or that it is not known any more. */
  function beginning(since: string | undefined): string[] {
    if (since === undefined || since === "") return [`retry: 2000\nid: ${lastId}\n\n`];
    const id = /^\d{1,16}$/.test(since) ? Number(since) : Number.NaN;
    const kept = ring.slice(-RING);
    const first = kept[0]?.id ?? lastId + 1;
    if (id >= first - 1 && id <= lastId) {
      return ["retry: 2000\n\n", ...kept.filter((each) => each.id > id).map(({ text }) => text)];
    }
    return [`retry: 2000\nid: ${lastId}\ndata: {"type":"reset"}\n\n`];
  }

  /** A key that has the most loses its oldest, but never so that it has fewer than the one that asks. */
  function makeWay(key: string): void {
    const ofKeys = Map.groupBy(streams, (each) => each.key);
    const count = ofKeys.get(key)?.length ?? 0;
    if (count < MOST_OF_ONE && streams.size < MOST_STREAMS) return;
    const most = [...ofKeys.values()].reduce((one, other) => (other.length > one.length ? other : one));
    if (count < MOST_OF_ONE && most.length > count + 1) {
      most[0]?.end();
      return;
    }
    throw new Problem(429, "too_many_streams", {
      message: count >= MOST_OF_ONE ? `${count} listen with this key already` : `${MOST_STREAMS} listen already`,
      hint: "close a page, use a key of your own, or read the lists from time to time",
      headers: { "Retry-After": "30" },
    });
  }

  return {
    get heard() {
      return isHeard();
    },

    publish(event) {
      if (closed) return;
      if (!isHeard()) return skip();
      if (event.type !== "job") return send(event);
      if (jobs.size >= MOST_JOBS_AT_ONCE && !jobs.has(event.job.id)) return;
      // In the order of their last change.
      jobs.delete(event.job.id);
      jobs.set(event.job.id, event);
      jobsTimer ??= setTimeout(sendJobs, jobsEveryMs).unref();
    },

    missed() {
      if (isHeard() && !closed) send({ type: "reset" });
      else skip();
    },

    listen(since, signal, key = "") {
      makeWay(key);
      const waiting = beginning(since);
      let length = waiting.reduce((sum, text) => sum + text.length, 0);
      let over = closed;
      let wake = (): void => {};
      const end = (): void => {
        over = true;
        signal.removeEventListener("abort", end);
        if (streams.delete(stream) && streams.size === 0) {
          leftAt = now();
          stopTimers();
        }
        wake();
      };
      const stream: Stream = {
        key,
        send(text) {
          waiting.push(text);
          length += text.length;
          if (length <= MOST_WAITING) return wake();
          waiting.length = 0;
          end();
        },
        end,
      };
      if (!closed) {
        streams.add(stream);
        startTimers();
      }
      if (signal.aborted) end();
      signal.addEventListener("abort", end, { once: true });

      async function* texts(): AsyncGenerator<string> {
        try {
          for (;;) {
            if (waiting.length > 0) {
              const piece = pieceOf(waiting);
              length -= piece.length;
              yield piece;
            } else if (over) return;
            else {
              await new Promise<void>((resolve) => {
                wake = resolve;
              });
            }
          }
        } finally {
          end();
        }
      }
      const all = texts();
      const each: AsyncIterator<string> = {
        next: () => all.next(),
        // One that never began, as for HEAD, would not come to its own end.
        return() {
          end();
          return all.return(undefined);
        },
      };
      return { [Symbol.asyncIterator]: () => each };
    },

    [Symbol.dispose]() {
      closed = true;
      stopTimers();
      clearTimeout(jobsTimer);
      for (const stream of [...streams]) stream.end();
    },
  };
}

/** Takes texts from the front: the first, and as many more as make no more than a piece. */
function pieceOf(waiting: string[]): string {
  let length = 0;
  const count = waiting.findIndex((text) => {
    length += text.length;
    return length > PIECE;
  });
  return waiting.splice(0, count === -1 ? waiting.length : Math.max(1, count)).join("");
}
