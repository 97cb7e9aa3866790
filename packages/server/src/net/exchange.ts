import type { Socket } from "node:net";
import { type buildConnector, Client, type Dispatcher } from "undici";

/** Makes undici's connector; the signal takes back a connection that is still being made. */
export type ConnectorFactory = (signal: AbortSignal) => buildConnector.connector;

/** A connection to one origin, for one request after the other. */
export interface Connection {
  /**
   * One request, dialled at most once: undici would dial again whenever a connection breaks before it is written to.
   * Resolves when the answer's headers have come, and throws what undici fails with.
   */
  ask(url: URL, request: Request): Promise<Answer>;
  /** Drops it when the signal aborts, until what is returned is called. */
  dropOn(signal: AbortSignal): () => void;
  /** Closes it, wherever the request has got to, which then fails with the reason. May be called again. */
  drop(reason: Error): Promise<void>;
  /** Whether it is made and neither side has closed it, as far as we have read. */
  readonly connected: boolean;
  /** Whether the last request went over a connection from before and nothing at all came back: it may be asked anew. */
  readonly unheard: boolean;
  /** Whether the other side has closed it, and not reset it. */
  readonly endedInOrder: boolean;
}

export interface ConnectionOptions {
  connector: ConnectorFactory;
  /** From the request to the last of the answer's headers; any time by default. */
  headersTimeoutMs?: number;
  /** Between two pieces of the body, while we are waiting for one; any time by default. */
  idleTimeoutMs?: number;
  /** Of the answer's headers; Node's own limit by default, which `--max-http-header-size` sets. */
  headMaxBytes?: number;
  onDisconnect?(): void;
}

type Request = Pick<Dispatcher.DispatchOptions, "method" | "headers" | "body">;

export interface Answer {
  statusCode: number;
  /** By their names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Whether informational answers came before it. */
  informed: boolean;
  /** As it arrives. Can be read once; throws what undici fails with. */
  body: AsyncIterable<Uint8Array>;
  /** Whether all of the body has come, read or not. */
  readonly whole: boolean;
  /** Whether headers came behind it. */
  readonly trailed: boolean;
}

/** Idle connections are closed after this, or sooner when the other side says so. */
const IDLE_MS = 4_000;
/** So much may lie here unread before the connection has to wait. */
const UNREAD_BYTES = 64 * 1024;

export function openConnection(origin: string, options: ConnectionOptions): Connection {
  const { connector, headersTimeoutMs = 0, idleTimeoutMs = 0, headMaxBytes, onDisconnect } = options;
  const dialling = new AbortController();
  const dial = connector(dialling.signal);
  let dials = 0;
  let socket: Socket | undefined;
  let endedInOrder = false;
  /** What became of the last request. */
  let dialled = false;
  let heard = false;
  const watch = (made: Socket): void => {
    socket = made;
    endedInOrder = false;
    made.once("end", () => {
      endedInOrder = true;
    });
  };
  const client = new Client(origin, {
    connect(target, callback) {
      dials -= 1;
      if (dials < 0) return callback(connectionBroke(), null);
      dialled = true;
      dial(target, (...result) => {
        const [, made] = result;
        if (made) watch(made);
        callback(...result);
      });
    },
    allowH2: false,
    ...(headMaxBytes !== undefined && { maxHeaderSize: headMaxBytes }),
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    headersTimeout: headersTimeoutMs,
    bodyTimeout: idleTimeoutMs,
  });
  client.on("disconnect", () => {
    socket = undefined;
    onDisconnect?.();
  });

  function drop(reason: Error): Promise<void> {
    dialling.abort(reason);
    return client.destroy(reason);
  }

  return {
    ask(url, request) {
      dials = 1;
      dialled = false;
      heard = false;
      return answerTo(client, { ...request, path: `${url.pathname}${url.search}` }, () => {
        heard = true;
      });
    },
    dropOn(signal) {
      const giveUp = (): void => void drop(new Error("the request was given up", { cause: signal.reason }));
      signal.addEventListener("abort", giveUp, { once: true });
      return () => signal.removeEventListener("abort", giveUp);
    },
    drop,
    get connected() {
      return socket !== undefined && !socket.destroyed && !endedInOrder;
    },
    get unheard() {
      return !dialled && !heard;
    },
    get endedInOrder() {
      return endedInOrder;
    },
  };
}

export function connectionBroke(): Error & { code: string } {
  return Object.assign(new Error("the connection broke"), { code: "ECONNRESET" });
}

/** Instead of `client.request`, whose stream costs more than all the rest of a small download. */
function answerTo(client: Client, request: Dispatcher.DispatchOptions, onFirstByte: () => void): Promise<Answer> {
  const unread: Uint8Array[] = [];
  let unreadBytes = 0;
  let end: { kind: "whole" } | { kind: "failed"; error: Error } | undefined;
  let connection: Dispatcher.DispatchController | undefined;
  let informed = false;
  let trailed = false;
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
    client.dispatch(request, {
      onRequestStart(controller) {
        connection = controller;
      },
      onResponseStarted: onFirstByte,
      onResponseStart(_, statusCode, headers) {
        // Informational answers come before the one that counts.
        if (statusCode < 200) {
          informed = true;
          return;
        }
        resolve({
          statusCode,
          headers,
          informed,
          body: { [Symbol.asyncIterator]: () => ({ next }) },
          get whole() {
            return end?.kind === "whole";
          },
          get trailed() {
            return trailed;
          },
        });
      },
      onResponseData(controller, piece) {
        unread.push(piece);
        unreadBytes += piece.length;
        if (unreadBytes >= UNREAD_BYTES) controller.pause();
        wake();
      },
      onResponseEnd(_, trailers) {
        trailed = Object.keys(trailers).length > 0;
        end = { kind: "whole" };
        wake();
      },
      onResponseError(_, error) {
        end = { kind: "failed", error };
        reject(error);
        wake();
      },
    });
  });
}
