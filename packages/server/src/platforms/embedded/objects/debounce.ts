/**
 * Files that somebody may still be writing. Each is to be checked when it is due, and is quiet once it was found to be
 * the same version for as long as `quietMs`. There is room for so many, no more.
 */
export interface Debounce {
  /** For about half of what it can hold. */
  readonly hasRoom: boolean;
  /** A version that was seen just now; without one the file is due at once. False when there is no room. */
  add(key: string, now: number, version?: string): boolean;
  /** Those to be checked by now. */
  due(now: number): string[];
  /** How long until the next is due. */
  dueInMs(now: number): number;
  /** Takes what it was found to be when it was due: true when it is quiet. */
  check(key: string, now: number, version: string): boolean;
  /** It could not be checked: again after the same time. */
  postpone(key: string, now: number): void;
  remove(key: string): void;
}

export function debounce({ quietMs, maxFiles }: { quietMs: number; maxFiles: number }): Debounce {
  const unseen = new Set<string>();
  /** In the order in which they are due, since all wait for the same time. */
  const waiting = new Map<string, { version: string | undefined; dueAt: number }>();
  const count = (): number => unseen.size + waiting.size;
  const has = (key: string): boolean => unseen.has(key) || waiting.has(key);

  function remove(key: string): void {
    unseen.delete(key);
    waiting.delete(key);
  }

  function wait(key: string, now: number, version: string | undefined): void {
    remove(key);
    waiting.set(key, { version, dueAt: now + quietMs });
  }

  return {
    get hasRoom() {
      return count() <= maxFiles / 2;
    },
    add(key, now, version) {
      if (has(key)) return true;
      if (count() >= maxFiles) return false;
      if (version === undefined) unseen.add(key);
      else wait(key, now, version);
      return true;
    },
    due(now) {
      const keys = [...unseen];
      for (const [key, { dueAt }] of waiting) {
        if (dueAt > now) break;
        keys.push(key);
      }
      return keys;
    },
    dueInMs(now) {
      if (unseen.size > 0) return 0;
      for (const { dueAt } of waiting.values()) return Math.max(0, dueAt - now);
      return Number.POSITIVE_INFINITY;
    },
    check(key, now, version) {
      const isQuiet = waiting.get(key)?.version === version;
      if (isQuiet) remove(key);
      else wait(key, now, version);
      return isQuiet;
    },
    postpone: (key, now) => wait(key, now, waiting.get(key)?.version),
    remove,
  };
}
