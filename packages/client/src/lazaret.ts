import { type AsyncCalls, asyncCalls } from "./async-calls.ts";
import { connectionFrom, type LazaretOptions } from "./connection.ts";
import { type FileInput, isFile } from "./file/open-file.ts";
import type { FileOptions } from "./file/upload-body.ts";
import { type CallOptions, type Send, sender } from "./http/send.ts";
import { isRecord, type ScanResult } from "./result.ts";
import { type DownloadTarget, type ObjectTarget, type SyncCalls, syncCalls } from "./sync-calls.ts";
import { type WaitOptions, waitForResult } from "./wait-for-result.ts";

/** One of the three. */
export type ScanTarget = { file: FileInput } | DownloadTarget | ObjectTarget;

/** For programs without types, and for who guesses: a path alone could be a file's or a link's. */
function howToScan(given: unknown): string {
  const text = typeof given === "string" ? given : given instanceof URL ? given.href : undefined;
  if (text !== undefined && /^https?:\/\//i.test(text))
    return 'pass { url } for a link, as in scan({ url: "https://…" })';
  if (text !== undefined) return 'pass { file } for a path, as in scan({ file: "report.pdf" })';
  if (isFile(given)) return "pass { file } for bytes, a Blob or a stream, as in scan({ file: bytes })";
  return "pass { file }, { url } or { bucket, key }";
}

/** A Lazaret server, as seen from a program. */
export class Lazaret {
  readonly sync: SyncCalls;
  readonly async: AsyncCalls;
  /** Private, so that no log of this object shows the key. */
  readonly #send: Send;

  constructor(options: LazaretOptions = {}) {
    this.#send = sender(connectionFrom(options));
    this.sync = syncCalls(this.#send);
    this.async = asyncCalls(this.#send);
  }

  /** Scans a file, a URL or an object, now: at most 200 MB and 60 seconds. For more, see `async`. */
  async scan(target: ScanTarget, options: FileOptions = {}): Promise<ScanResult> {
    const named: unknown = target;
    // A request of Node's has a url too, and is a stream.
    if (isRecord(named) && !isFile(named)) {
      if ("file" in target) return this.sync.binary(target.file, options);
      if ("url" in target) return this.sync.download(target, options);
      if ("bucket" in target) return this.sync.object(target, options);
    }
    throw new TypeError(`scan wants to know what it is given: ${howToScan(named)}`);
  }

  /** Resolves when a job that was submitted with `async` has a result. */
  waitForResult(traceId: string, options: WaitOptions = {}): Promise<ScanResult> {
    return waitForResult((id, signal) => this.async.result(id, { signal }), traceId, options);
  }

  /** Resolves when the server is there and takes the key. */
  async checkKey(options: CallOptions = {}): Promise<void> {
    await this.#send({ method: "GET", path: "/api/v1/test", expect: [204] }, options);
  }
}
