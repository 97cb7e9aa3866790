import type { ScanItem, Scanned, Scanner } from "./scanned.ts";

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
  const either = AbortSignal.any([signal, failed.signal]);

  async function worker(): Promise<void> {
    for (;;) {
      const next = either.aborted ? undefined : await items.next();
      if (!next || next.done || either.aborted) return;
      await one(next.value);
    }
  }

  async function one(item: ScanItem): Promise<void> {
    if (item.kind === "unreadable") {
      options.onResult(item, { status: "no", finding: "unreadable_file", message: item.reason });
      return;
    }
    options.onStart(item);
    const scanned = await options.scanner.scan(item, (bytes) => options.onBytes(item, bytes), either);
    options.onResult(item, scanned);
  }

  const workers = Array.from({ length: options.atOnce }, async () => {
    try {
      await worker();
    } catch (error) {
      if (!either.aborted) failed.abort(error);
    }
  });
  await Promise.all(workers);
  await items.return(undefined);
  if (failed.signal.aborted) throw failed.signal.reason;
}
