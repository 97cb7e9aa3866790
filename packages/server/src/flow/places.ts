/**
 * A bounded number of places, of which one share may hold a part only. Whoever entered must leave, however the work ended.
 * When a place is free and several wait for one, it goes to the share that holds least, and inside a share by age.
 */
export interface Places {
  /** Takes a place, if there is one for this share. */
  tryEnter(share: string): boolean;
  /** Takes a place for work that has begun already: there may be one more than there should be for a while. */
  enter(share: string): void;
  /** Waits for a place. Throws `signal.reason` when the wait is given up. */
  enterWhenFree(share: string, signal: AbortSignal): Promise<void>;
  leave(share: string): void;
  /** Places that nobody holds or waits for. */
  readonly free: number;
  /** What each share holds. */
  readonly held: ReadonlyMap<string, number>;
  readonly perShare: number;
  /** Whether all who hold places hold as many as they may. */
  readonly onlyForOthers: boolean;
}

export interface PlacesOptions {
  total: number;
  perShare: number;
}

interface Waiter {
  share: string;
  admit(): void;
}

export function places({ total, perShare }: PlacesOptions): Places {
  const held = new Map<string, number>();
  const waiting = new Set<Waiter>();
  let inside = 0;

  const heldBy = (share: string): number => held.get(share) ?? 0;
  const hasRoom = (share: string): boolean => inside < total && heldBy(share) < perShare;

  function enter(share: string): void {
    inside += 1;
    held.set(share, heldBy(share) + 1);
  }

  function admitNext(): void {
    const [next] = [...waiting]
      .filter(({ share }) => hasRoom(share))
      .sort((one, other) => heldBy(one.share) - heldBy(other.share));
    next?.admit();
  }

  return {
    enter,
    held,
    perShare,
    get free() {
      return Math.max(0, total - inside - waiting.size);
    },
    get onlyForOthers() {
      return held.size > 0 && [...held.values()].every((count) => count >= perShare);
    },

    tryEnter(share) {
      if (!hasRoom(share)) return false;
      enter(share);
      return true;
    },

    async enterWhenFree(share, signal) {
      signal.throwIfAborted();
      if (hasRoom(share)) return enter(share);
      await new Promise<void>((resolve, reject) => {
        const waiter: Waiter = {
          share,
          admit() {
            waiting.delete(waiter);
            signal.removeEventListener("abort", giveUp);
            enter(share);
            resolve();
          },
        };
        const giveUp = (): void => {
          waiting.delete(waiter);
          reject(signal.reason);
        };
        waiting.add(waiter);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },

    leave(share) {
      inside -= 1;
      const left = heldBy(share) - 1;
      if (left > 0) held.set(share, left);
      else held.delete(share);
      admitNext();
    },
  };
}
