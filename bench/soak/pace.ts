import { setTimeout as pause } from "node:timers/promises";
import { percentile } from "../table.ts";
import type { Book } from "./book.ts";
import { DECK, type Request } from "./requests.ts";

/** What happened since the last look. */
interface Look {
  done: number;
  refused: number;
  /** Milliseconds of small files, from when they were due; undefined when there were none. */
  p99: number | undefined;
}

export interface Traffic {
  /** As many as can be, so many at once; answers how many a second that were. */
  fill(seconds: number, atOnce: number): Promise<number>;
  /** So many a second, whether or not those before are done. */
  hold(perSecond: number, seconds: number): Promise<void>;
  /** Resolves when nothing is under way. */
  settled(): Promise<void>;
  look(): Look;
  /** Of all that were due since the beginning. */
  readonly totals: Readonly<Record<"due" | "done" | "refused" | "leftOut", number>>;
}

const TICK_MS = 5;
/** More than this means that the service does not keep up: further ones are left out. */
const MOST_UNDER_WAY = 2000;

export function traffic(requests: Readonly<Record<keyof typeof DECK, Request>>, book: Book): Traffic {
  const totals = { due: 0, done: 0, refused: 0, leftOut: 0 };
  let recent = { done: 0, refused: 0, times: [] as number[] };
  const draw = dealer();
  const underWay = new Set<Promise<void>>();

  async function one(due: number): Promise<void> {
    const { request, number } = draw(requests);
    totals.due += 1;
    try {
      const outcome = await request.run(number);
      totals[outcome] += 1;
      recent[outcome] += 1;
      if (outcome === "done" && request.small) recent.times.push(performance.now() - due);
    } catch (error) {
      book.note(error instanceof Error ? error.message : String(error));
    }
  }

  function begin(due: number): void {
    if (underWay.size >= MOST_UNDER_WAY) {
      totals.leftOut += 1;
      return;
    }
    const running = one(due).finally(() => underWay.delete(running));
    underWay.add(running);
  }

  return {
    totals,
    async fill(seconds, atOnce) {
      const [began, before] = [performance.now(), totals.done];
      const until = began + seconds * 1000;
      const client = async (): Promise<void> => {
        while (performance.now() < until) await one(performance.now());
      };
      const clients = Promise.all(Array.from({ length: atOnce }, client));
      await pause(seconds * 1000);
      const perSecond = (totals.done - before) / ((performance.now() - began) / 1000);
      await clients;
      return perSecond;
    },
    async hold(perSecond, seconds) {
      const gap = 1000 / perSecond;
      const began = performance.now();
      for (let due = began; due < began + seconds * 1000; ) {
        for (; due <= performance.now() && due < began + seconds * 1000; due += gap) begin(due);
        await pause(TICK_MS);
      }
    },
    async settled() {
      await Promise.all(underWay);
    },
    look() {
      const { done, refused, times } = recent;
      recent = { done: 0, refused: 0, times: [] };
      times.sort((a, b) => a - b);
      return { done, refused, p99: times.length === 0 ? undefined : percentile(times, 0.99) };
    },
  };
}

/** Deals requests from a pack of a thousand, each kind spread evenly over it: so one minute can be compared with another. */
function dealer(): <R>(requests: Readonly<Record<keyof typeof DECK, R>>) => { request: R; number: number } {
  const pack = Object.entries(DECK).flatMap(([name, count]) =>
    Array.from({ length: count }, (_, index) => ({ name: name as keyof typeof DECK, place: (index + 0.5) / count })),
  );
  pack.sort((one, other) => one.place - other.place);
  let number = 0;
  return (requests) => {
    number += 1;
    const { name } = pack[number % pack.length] as (typeof pack)[number];
    // Moved on with each pack, so that what numbers decide is not always the same for the same place in it.
    return { request: requests[name], number: number + Math.floor(number / pack.length) };
  };
}
