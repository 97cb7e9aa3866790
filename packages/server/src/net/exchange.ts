import type { Socket } from "node:net";
import { type buildConnector, Client, type Dispatcher } from "undici";
import { readBy } from "../flow/whole-bytes.ts";

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
  return new Promise((resolve, reject) => {
    client.dispatch(request, new Arriving(onFirstByte, resolve, reject));
  });
}

/** An answer, as undici tells about it. A class, because there is one for each request: written down as an object it takes longer to make. */
class Arriving implements Answer, Dispatcher.DispatchHandler {
  statusCode = 0;
  headers: Answer["headers"] = {};
  informed = false;
  whole = false;
  trailed = false;
  readonly body: AsyncIterable<Uint8Array> = readBy(() => ({ next: () => this.#next() }));
  readonly onResponseStarted: () => void;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  readonly #unread: Uint8Array[] = [];
  #unreadBytes = 0;
  #failed: Error | undefined;
  #connection: Dispatcher.DispatchController | undefined;
  #wake = (): void => {};

  constructor(onFirstByte: () => void, resolve: (answer: Answer) => void, reject: (error: Error) => void) {
    this.onResponseStarted = onFirstByte;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#connection = controller;
  }

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: Answer["headers"]): void {
    // Informational answers come before the one that counts.
    if (statusCode < 200) {
      this.informed = true;
      return;
    }
    this.statusCode = statusCode;
    this.headers = headers;
    this.#resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    this.#unread.push(piece);
    this.#unreadBytes += piece.length;
    if (this.#unreadBytes >= UNREAD_BYTES) controller.pause();
    this.#wake();
  }

  onResponseEnd(_: Dispatcher.DispatchController, trailers: Answer["headers"]): void {
    this.trailed = Object.keys(trailers).length > 0;
    this.whole = !this.#failed;
    this.#wake();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#failed = error;
    this.whole = false;
    this.#reject(error);
    this.#wake();
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    while (this.#unread.length === 0 && !this.whole && !this.#failed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const piece = this.#unread.shift();
    if (piece) {
      this.#unreadBytes -= piece.length;
      if (this.#unreadBytes < UNREAD_BYTES) this.#connection?.resume();
      return { done: false, value: piece };
    }
    if (this.#failed) throw this.#failed;
    return { done: true, value: undefined };
  }
}
