import { read } from "node:fs";
import { promisify } from "node:util";
import { SYNC_MAX_FILE_BYTES, SYNC_TIMEOUT_SECONDS, WAITING_PER_SLOT } from "@lazaret/contract";
import { release, type Spooled, spool } from "../engines/threads/spool.ts";
import { type ScanNow, type ScanNowOptions, scanNow } from "../receive/sync-routes.ts";
import { admission } from "../scan/admission.ts";
import type { Settings } from "../settings.ts";
import { installationOf } from "./installation.ts";
import type { Scanning } from "./scanning.ts";

const readAt = promisify(read);
const READ_BYTES = 64 * 1024;
/** What is larger is held on disk while it comes slowly. */
const IN_MEMORY_BYTES = 64 * 1024;

export interface ScansNowOptions {
  timeoutMs?: number | undefined;
  timer?: ScanNowOptions["timer"] | undefined;
}

/** The synchronous API's scans: so many at once, the next ones in a line. */
export function scansNow(
  settings: Settings,
  scanning: Scanning,
  { timeoutMs = SYNC_TIMEOUT_SECONDS * 1000, timer }: ScansNowOptions = {},
): ScanNow {
  const { concurrency, objectScans, temporaryFolder: folder } = scanning;
  const line = admission({
    slots: concurrency,
    longestLine: settings.waitingLine || concurrency * WAITING_PER_SLOT,
    async hold(bytes, signal) {
      const file = await spool(bytes, { folder, memoryBytes: IN_MEMORY_BYTES }, signal);
      return { read: () => contentOf(file), release: () => release(file) };
    },
  });
  return scanNow({
    timeoutMs,
    ...(timer && { timer }),
    installation: installationOf(settings),
    async scan(source, keyDigest, signal) {
      const stop = new AbortController();
      const giveUp = (): void => stop.abort(signal.reason);
      signal.throwIfAborted();
      const place = line.join(keyDigest, (reason) => stop.abort(reason));
      signal.addEventListener("abort", giveUp, { once: true });
      try {
        const report = await scanning.inspect(source, {
          maxBytes: SYNC_MAX_FILE_BYTES,
          signal: stop.signal,
          admit: (bytes) => place.admit(bytes, stop.signal),
        });
        return source.kind === "object" ? (await objectScans.finish(source, report)).report : report;
      } finally {
        signal.removeEventListener("abort", giveUp);
        place.leave();
      }
    },
  });
}

async function* contentOf(file: Spooled): AsyncGenerator<Uint8Array> {
  if (file.kind === "memory") {
    yield file.bytes;
    return;
  }
  for (let at = 0; at < file.size; ) {
    const { bytesRead, buffer } = await readAt(file.descriptor, Buffer.allocUnsafeSlow(READ_BYTES), 0, READ_BYTES, at);
    if (bytesRead === 0) throw new Error("a temporary file became shorter");
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}
