import { Busy } from "../model/faults.ts";
import { removeItem } from "./remove-item.ts";
import { turns } from "./turns.ts";

/**
 * A bounded number of slots, of which one key may hold a part only; further callers wait in a bounded line. A slot that
 * becomes free goes to the first in line of the key that holds fewest for its weight, and of several such to the one that was let in
 * least, so that one key's crowd does not hold up another.
 * Nobody waits behind a key that holds all it may. Whoever entered must leave, however the work ended; leaving twice frees
 * one slot only.
 */
export interface Gate {
  /** Waits for a slot. Throws `Busy` when the line is full, `signal.reason` when the wait is given up. */
  enter(signal: AbortSignal, key?: string): Promise<Leave>;
  /** Takes a slot, if there is one for this key now. */
  tryEnter(key?: string): Leave | undefined;
  /** Takes a slot for work that has begun already: there may be one more than there should be for a while. */
  enterAnyway(key?: string): Leave;
  readonly inside: number;
  readonly waiting: number;
  /** Slots that nobody holds. Who waits while there are some, waits for a key that holds all it may. */
  readonly free: number;
  /** How many slots each key holds; of the last one that held any, it may be none. */
  readonly held: ReadonlyMap<string, number>;
  /** Whether all keys that hold slots hold as many as they may. */
  readonly onlyForOthers: boolean;
}

export type Leave = () => void;

export interface GateOptions {
  slots: number;
  /** As many as there are by default. */
  perKey?: number;
  longestLine?: number;
  /** 1 for all by default. */
  weightOf?: WeightOf;
}

/** What a key counts for beside others. */
export type WeightOf = (key: string) => number;

interface Waiter {
  key: string;
  admit(): void;
}

export function gate(options: GateOptions): Gate {
  const { slots, perKey = slots, longestLine = Number.POSITIVE_INFINITY, weightOf = () => 1 } = options;
  const given = turns();
  let inside = 0;
  const held = new Map<string, number>();
  /** The last one that left: taken out when another comes, as to be put in and out again and again would take longer than all else here. */
  let left: string | undefined;
  const line: Waiter[] = [];

  const heldBy = (key: string): number => held.get(key) ?? 0;
  const hasRoom = (key: string): boolean => inside < slots && heldBy(key) < perKey;

  function count(key: string, change: 1 | -1): void {
    inside += change;
    const now = heldBy(key) + change;
    if (left !== undefined && left !== key) held.delete(left);
    left = now === 0 && held.size === 1 ? key : undefined;
    if (now > 0 || left === key) held.set(key, now);
    else held.delete(key);
  }

  function nextInLine(): Waiter | undefined {
    let next: Waiter | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const waiter of line) {
      if (waiter.key === next?.key || !hasRoom(waiter.key)) continue;
      const held = heldBy(waiter.key) / weightOf(waiter.key);
      if (next && (held > least || (held === least && given.of(waiter.key) >= given.of(next.key)))) continue;
      next = waiter;
      least = held;
    }
    if (next) given.served(new Map([[next.key, 1]]), weightOf);
    return next;
  }

  function enterAnyway(key = ""): Leave {
    let left = false;
    count(key, 1);
    return () => {
      if (left) return;
      left = true;
      count(key, -1);
      nextInLine()?.admit();
    };
  }

  function waitInLine(signal: AbortSignal, key: string): Promise<Leave> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        key,
        admit() {
          removeItem(line, waiter);
          signal.removeEventListener("abort", giveUp);
          resolve(enterAnyway(key));
        },
      };
      const giveUp = (): void => {
        removeItem(line, waiter);
        reject(signal.reason);
      };
      line.push(waiter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  return {
    async enter(signal, key = "") {
      signal.throwIfAborted();
      if (hasRoom(key)) return enterAnyway(key);
      // Awaited, so that those who enter go on in the order in which they were let in.
      if (line.length < longestLine) return await waitInLine(signal, key);
      throw new Busy(`all ${slots} slots are taken and ${line.length} requests wait already`);
    },
    tryEnter: (key = "") => (hasRoom(key) ? enterAnyway(key) : undefined),
    enterAnyway,
    get inside() {
      return inside;
    },
    get waiting() {
      return line.length;
    },
    get free() {
      return Math.max(0, slots - inside);
    },
    held,
    get onlyForOthers() {
      return held.size > 0 && [...held.values()].every((slots) => slots >= perKey);
    },
  };
}
