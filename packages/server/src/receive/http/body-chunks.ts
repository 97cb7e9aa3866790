import type { IncomingMessage } from "node:http";

/**
 * A request's body, chunk by chunk, only as fast as it is read. Unlike the stream's own iterator it leaves the stream
 * alive when the reader stops early: the answer is still to be sent on the same connection. Throws when the client goes
 * away before the end. `begin` is called at the first read.
 */
export async function* bodyChunks(message: IncomingMessage, begin: () => void): AsyncGenerator<Uint8Array> {
  begin();
  let wake: (() => void) | undefined;
  const onChange = (): void => wake?.();
  message.on("readable", onChange).on("end", onChange).on("close", onChange).on("error", onChange);
  try {
    for (;;) {
      const chunk: Buffer | null = message.read();
      if (chunk !== null) yield chunk;
      else if (message.readableEnded) return;
      else if (message.errored) throw message.errored;
      else if (message.destroyed) throw new Error("the connection closed before the body had arrived");
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    message.off("readable", onChange).off("end", onChange).off("close", onChange).off("error", onChange);
  }
}
