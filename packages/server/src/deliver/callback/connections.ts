import { CALLBACK_ANSWER_MAX_BYTES } from "@lazaret/contract";
import { type buildConnector, Client, type Dispatcher } from "undici";

/** Makes undici's connector; the signal takes back a connection that is still being made. */
export type ConnectorFactory = (signal: AbortSignal) => buildConnector.connector;

export interface Connections {
  /**
   * One POST, dialled at most once. Resolves when the answer's headers have come, as the status alone says whether a
   * callback was received. Throws `signal.reason` when the signal aborts, and whatever the exchange fails with.
   */
  post(url: URL, request: PostRequest, signal: AbortSignal): Promise<Posted>;
  /** Drops every connection, those of POSTs under way included. */
  close(): Promise<void>;
}

interface PostRequest {
  /** Name, value, name, value. */
  headers: string[];
  body: Uint8Array;
  /** May go over a connection that has just brought a 2xx. It may be broken by now, so retries should not. */
  mayReuse: boolean;
}

interface Posted {
  statusCode: number;
  /** Resolves when the connection carries nothing of this POST any more. Never rejects. */
  ended: Promise<void>;
}

interface Connection {
  origin: string;
  client: Client;
  connected: boolean;
  /** Dials left to the POST under way: undici would dial again whenever a connection breaks before it is written to. */
  dials: number;
  drop(reason: Error): void;
}

/** How long the rest of an answer is waited for. Nobody needs it; the connection can be used again if it is short. */
const REST_MS = 1_000;
/** Idle connections are closed after this, or sooner when the receiver says so. */
const IDLE_MS = 4_000;
const HEAD_MAX_BYTES = 16 * 1024;

export function connections(connector: ConnectorFactory): Connections {
  const open = new Set<Connection>();
  const idle = new Map<string, Connection[]>();

  function connectTo(origin: string): Connection {
    const dialling = new AbortController();
    const dial = connector(dialling.signal);
    const client = new Client(origin, {
      connect(target, callback) {
        connection.dials -= 1;
        if (connection.dials < 0) callback(broken(), null);
        else dial(target, callback);
      },
      allowH2: false,
      maxHeaderSize: HEAD_MAX_BYTES,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      // The caller's signal is the one limit: undici's are started anew by every byte of a receiver that dribbles.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const connection: Connection = {
      origin,
      client,
      connected: false,
      dials: 0,
      drop(reason) {
        open.delete(connection);
        forget(connection);
        dialling.abort(reason);
        void client.destroy(reason);
      },
    };
    client.on("connect", () => {
      connection.connected = true;
    });
    client.on("disconnect", () => {
      connection.connected = false;
      if (forget(connection)) connection.drop(broken());
    });
    open.add(connection);
    return connection;
  }

  function takeIdle(origin: string): Connection | undefined {
    const newest = idle.get(origin)?.at(-1);
    if (newest) forget(newest);
    return newest;
  }

  function keep(connection: Connection): void {
    idle.set(connection.origin, [...(idle.get(connection.origin) ?? []), connection]);
  }

  /** Whether it was idle. */
  function forget(connection: Connection): boolean {
    const others = idle.get(connection.origin) ?? [];
    const left = others.filter((each) => each !== connection);
    if (left.length === 0) idle.delete(connection.origin);
    else idle.set(connection.origin, left);
    return left.length < others.length;
  }

  /** After the headers: whatever comes now, the connection is kept or gone soon. */
  async function finish(connection: Connection, answer: Answer): Promise<void> {
    const tooSlow = setTimeout(() => connection.drop(broken()), REST_MS);
    const whole = await answer.whole;
    clearTimeout(tooSlow);
    const succeeded = answer.statusCode >= 200 && answer.statusCode <= 299;
    if (whole && succeeded && connection.connected && open.has(connection)) keep(connection);
    else connection.drop(broken());
  }

  return {
    async post(url, { headers, body, mayReuse }, signal) {
      signal.throwIfAborted();
      const connection = (mayReuse ? takeIdle(url.origin) : undefined) ?? connectTo(url.origin);
      connection.dials = 1;
      const giveUp = (): void => connection.drop(new Error("the callback was given up", { cause: signal.reason }));
      signal.addEventListener("abort", giveUp, { once: true });
      try {
        const path = `${url.pathname}${url.search}`;
        const answer = await answerTo(connection.client, { method: "POST", path, headers, body });
        return { statusCode: answer.statusCode, ended: finish(connection, answer) };
      } catch (error) {
        connection.drop(broken());
        throw signal.aborted ? signal.reason : error;
      } finally {
        signal.removeEventListener("abort", giveUp);
      }
    },

    async close() {
      const closed = [...open].map(({ client }) => client);
      for (const connection of [...open]) connection.drop(broken());
      await Promise.all(closed.map((client) => client.destroy()));
    },
  };
}

interface Answer {
  statusCode: number;
  /** Whether its body came to an end, and that was near. Never rejects. */
  whole: Promise<boolean>;
}

/** Resolves when the headers have come. Instead of `client.request`, which makes a stream of a body that nobody wants. */
function answerTo(client: Client, request: Dispatcher.DispatchOptions): Promise<Answer> {
  const answer = Promise.withResolvers<Answer>();
  const whole = Promise.withResolvers<boolean>();
  let bytes = 0;
  client.dispatch(request, {
    onRequestStart() {},
    onResponseStart(_, statusCode) {
      // Informational answers come before the one that counts.
      if (statusCode >= 200) answer.resolve({ statusCode, whole: whole.promise });
    },
    onResponseData(controller, piece) {
      bytes += piece.length;
      if (bytes > CALLBACK_ANSWER_MAX_BYTES) controller.abort(broken());
    },
    onResponseEnd: () => whole.resolve(true),
    onResponseError(_, error) {
      answer.reject(error);
      whole.resolve(false);
    },
  });
  return answer.promise;
}

function broken(): Error {
  return Object.assign(new Error("the connection broke"), { code: "ECONNRESET" });
}
