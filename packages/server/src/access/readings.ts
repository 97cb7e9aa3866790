/** Values that are read now and then, by name: once for all who ask meanwhile. */
export interface Readings<Value> {
  /** As it was read within the last while; one that cannot be read now is the last one that could. */
  read(name: string, read: () => Promise<Value>): Promise<Value | undefined>;
  /** The last one, to be changed in place by whoever knows better. */
  known(name: string): Value | undefined;
  /** Whether there is any. */
  readonly none: boolean;
  forget(name: string): void;
  /** Drops those that were not asked for lately. */
  clean(): void;
}

export function readings<Value>(everyMs: number, elapsed: () => number): Readings<Value> {
  const all = new Map<string, { at: number; value: Value | undefined; reading: Promise<void> | undefined }>();
  return {
    async read(name, read) {
      const known = all.get(name) ?? { at: Number.NEGATIVE_INFINITY, value: undefined, reading: undefined };
      all.set(name, known);
      if (elapsed() - known.at < everyMs) return known.value;
      known.reading ??= read()
        .then((value) => {
          known.value = value;
        })
        .catch(() => {})
        .finally(() => {
          known.at = elapsed();
          known.reading = undefined;
        });
      await known.reading;
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
