/**
 * How far passes over buckets have come, so that one that was interrupted goes on where it was, also on another machine that
 * shares the storage. Read when a pass begins, written every second while it runs, cleared at its end.
 *
 * What is written is what every later process reads, until somebody writes or clears it. Of several that write at once the last one
 * counts: each says what is true, so no object is left out whichever stays. What was damaged is as good as nothing. A storage
 * that cannot be written throws, and keeps what it had. Each adapter passes test/contracts/bookmarks.ts.
 */
export interface Bookmarks {
  /** One for each bucket and set of filters. */
  of(bucket: string, filters: object): Bookmark;
}

export interface Bookmark {
  /** Undefined when there is no pass to go on with. */
  read(): Promise<Reached | undefined>;
  write(reached: Reached): Promise<void>;
  /** The pass is finished, or is to start anew. */
  clear(): Promise<void>;
}

export interface Reached {
  /** Up to this key everything was scanned that was there when the pass began. */
  key: string;
  /** When that was, in milliseconds since 1970. */
  startedAt: number;
}

/** A text that cannot be understood is as good as none: the pass starts anew, and scans some objects again. */
export function reachedIn(text: string): Reached | undefined {
  try {
    const { key, startedAt } = JSON.parse(text) as Partial<Record<keyof Reached, unknown>>;
    return typeof key === "string" && typeof startedAt === "number" ? { key, startedAt } : undefined;
  } catch {
    return undefined;
  }
}
