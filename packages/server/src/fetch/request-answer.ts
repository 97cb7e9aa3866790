import type { Client, Dispatcher } from "undici";

export interface RequestAnswer {
  statusCode: number;
  /** By their names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it arrives. Can be read once; throws what undici fails with. */
  body: AsyncIterable<Uint8Array>;
}

/** So much may lie here unread before the connection is told to wait. */
const UNREAD_BYTES = 64 * 1024;

/**
 * One GET. Resolves when the answer's headers have come, and throws what undici fails with. Instead of `client.request`,
 * whose stream costs more than all the rest of a small download.
 */
export function requestAnswer(
  client: Client,
  request: { path: string; headers: Readonly<Record<string, string>> },
): Promise<RequestAnswer> {
  const unread: Uint8Array[] = [];
  let unreadBytes = 0;
  let end: { kind: "whole" } | { kind: "failed"; error: Error } | undefined;
  let connection: Dispatcher.DispatchController | undefined;
  let wake = (): void => {};

  async function next(): Promise<IteratorResult<Uint8Array>> {
    while (unread.length === 0 && !end) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const piece = unread.shift();
    if (piece) {
      unreadBytes -= piece.length;
      if (unreadBytes < UNREAD_BYTES) connection?.resume();
      return { done: false, value: piece };
    }
    if (end?.kind === "failed") throw end.error;
    return { done: true, value: undefined };
  }

  return new Promise((resolve, reject) => {
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        connection = controller;
      },
      onResponseStart(_, statusCode, headers) {
        // Informational answers come before the one that counts.
        if (statusCode >= 200) resolve({ statusCode, headers, body: { [Symbol.asyncIterator]: () => ({ next }) } });
      },
      onResponseData(controller, piece) {
        unread.push(piece);
        unreadBytes += piece.length;
        if (unreadBytes >= UNREAD_BYTES) controller.pause();
        wake();
      },
      onResponseEnd() {
        end = { kind: "whole" };
        wake();
      },
      onResponseError(_, error) {
        end = { kind: "failed", error };
        reject(error);
        wake();
      },
    };
    client.dispatch({ ...request, method: "GET" }, handler);
  });
}
