import { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { bodyFailed } from "./s3-failure.ts";

export interface BodyOptions {
  announcedBytes: number | undefined;
  /** Between two pieces of the body, while we are waiting for one. */
  idleTimeoutMs: number;
}

/**
 * The body of an answer, only as fast as it is read. Throws `SourceFailed` where it breaks off, and `signal.reason` when
 * the signal aborts. The connection is held until all has been read, reading is stopped, or the signal aborts.
 */
export function objectBytes(body: Readable, options: BodyOptions, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const { announcedBytes, idleTimeoutMs } = options;
  // One that is let go before it is read reports that to nobody.
  body.on("error", () => {});

  async function* read(): AsyncGenerator<Uint8Array> {
    const chunks = body[Symbol.asyncIterator]();
    let receivedBytes = 0;
    try {
      for (;;) {
        const next = await within(idleTimeoutMs, body, () => chunks.next());
        // Node may still hand out what it had received before the connection was closed.
        signal.throwIfAborted();
        if (next.done) break;
        receivedBytes += next.value.byteLength;
        yield next.value;
      }
      if (!isWhole(body, receivedBytes, announcedBytes)) throw bodyFailed("short_body");
    } catch (error) {
      throw signal.aborted ? signal.reason : explained(error);
    } finally {
      body.destroy();
    }
  }

  const reading = read();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => reading.next(),
      // Closed first: a generator that waits for the next bytes would answer return() only after they came.
      async return() {
        body.destroy();
        return reading.return(undefined);
      },
    }),
  };
}

/** Without a length only the chunks of HTTP tell an end from a cut. */
function isWhole(body: Readable, receivedBytes: number, announcedBytes: number | undefined): boolean {
  if (announcedBytes !== undefined) return receivedBytes === announcedBytes;
  return body instanceof IncomingMessage && body.complete && body.headers["transfer-encoding"] === "chunked";
}

async function within<T>(limitMs: number, body: Readable, wait: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => body.destroy(bodyFailed("body_timeout")), limitMs);
  try {
    return await wait();
  } finally {
    clearTimeout(timer);
  }
}

/** Whatever breaks the connection in mid-body makes the body too short. */
function explained(error: unknown): unknown {
  return error instanceof Error && "code" in error ? bodyFailed("short_body") : error;
}
