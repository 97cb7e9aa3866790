/** Values that are read now and then, by name: once for all who ask meanwhile. */
export interface Readings<Value> {
  /** As it was read within the last while; one that cannot be read now, or not soon, is the last one that could. */
  read(name: string, read: () => Promise<Value>): Promise<Value | undefined>;
  /** The last one, to be changed in place by whoever knows better. */
  known(name: string): Value | undefined;
  /** Whether there is any. */
  readonly none: boolean;
  forget(name: string): void;
  /** Drops those that were not asked for lately. */
  clean(): void;
}

interface Known<Value> {
  at: number;
  value: Value | undefined;
  /** Under way. */
  reading?: Promise<void> | undefined;
  /** Until it has ended, or need not be waited for any longer. */
  wait?: Promise<void>;
}

/** Requests wait for it. A store that hangs is given up after seconds only, and is asked again soon after that. */
const PATIENCE_MS = 500;

export function readings<Value>(everyMs: number, elapsed: () => number): Readings<Value> {
  const all = new Map<string, Known<Value>>();

  async function readInto(known: Known<Value>, read: () => Promise<Value>): Promise<void> {
    try {
      known.value = await read();
    } catch {
      // The last one holds.
    } finally {
      known.at = elapsed();
      known.reading = undefined;
    }
  }

  return {
    async read(name, read) {
      const known = all.get(name) ?? { at: Number.NEGATIVE_INFINITY, value: undefined };
      all.set(name, known);
      if (elapsed() - known.at < everyMs) return known.value;
      if (!known.reading) {
        known.reading = readInto(known, read);
        known.wait = orLate(known.reading);
      }
      await known.wait;
      return known.value;
    },
    known: (name) => all.get(name)?.value,
    get none() {
      return all.size === 0;
    },
    forget: (name) => void all.delete(name),
    clean() {
      for (const [name, { at, reading }] of all) if (!reading && elapsed() - at > 60_000) all.delete(name);
    },
  };
}

function orLate(reading: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, PATIENCE_MS);
    void reading.then(() => {
      clearTimeout(late);
      resolve();
    });
  });
}
