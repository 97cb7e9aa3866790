import { firstOf } from "../../flow/time-limit.ts";

/** What there is to scan, one by one. */
export type ScanItem =
  | { kind: "stdin"; name: string }
  | { kind: "file"; name: string; path: string; sizeBytes: number }
  | { kind: "url"; name: string; url: string }
  | { kind: "object"; name: string; bucket: string; key: string }
  /** Something that should have been scanned and cannot even be opened. */
  | { kind: "unreadable"; name: string; reason: string };

/** What is said about one of them. `no` is no kind of clean. */
export interface Scanned {
  status: "clean" | "infected" | "no";
  /** The kind of malware; for `no`, why not. */
  finding?: string;
  /** What inside the file is infected, where the scanner says so: `inner.zip/setup.exe`. */
  member?: string;
  /** For people: more about why not. */
  message?: string;
  size?: number;
  realfiletype?: string;
}

/** Scans by a server, or in this process. */
export interface Scanner extends AsyncDisposable {
  /** Throws `CommandFailed` when there is no sense in going on with further files, and the signal's reason. */
  scan(item: Exclude<ScanItem, { kind: "unreadable" }>, onBytes: OnBytes, signal: AbortSignal): Promise<Scanned>;
}

/** Gets the number of bytes of the file that have been read so far. */
export type OnBytes = (bytes: number) => void;

export interface ScanAllOptions {
  scanner: Pick<Scanner, "scan">;
  atOnce: number;
  onStart(item: ScanItem): void;
  onBytes(item: ScanItem, bytes: number): void;
  onResult(item: ScanItem, scanned: Scanned): void;
}

/** Scans everything, so many at once. Ends early when the signal aborts, and with the error of a scan that failed for good. */
export async function scanAll(
  items: AsyncGenerator<ScanItem>,
  options: ScanAllOptions,
  signal: AbortSignal,
): Promise<void> {
  const failed = new AbortController();
  using either = firstOf([signal, failed.signal]);

  async function worker(): Promise<void> {
    for (;;) {
      const next = either.signal.aborted ? undefined : await items.next();
      if (!next || next.done || either.signal.aborted) return;
      await one(next.value);
    }
  }

  async function one(item: ScanItem): Promise<void> {
    if (item.kind === "unreadable") {
      options.onResult(item, { status: "no", finding: "unreadable_file", message: item.reason });
      return;
    }
    options.onStart(item);
    const scanned = await options.scanner.scan(item, (bytes) => options.onBytes(item, bytes), either.signal);
    options.onResult(item, scanned);
  }

  const workers = Array.from({ length: options.atOnce }, async () => {
    try {
      await worker();
    } catch (error) {
      if (!either.signal.aborted) failed.abort(error);
    }
  });
  await Promise.all(workers);
  await items.return(undefined);
  if (failed.signal.aborted) throw failed.signal.reason;
}
