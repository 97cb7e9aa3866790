import type { Socket } from "node:net";
import { type buildConnector, Client } from "undici";
import { type ConnectorOptions, guardedConnector } from "../net/guarded-connector.ts";
import { failed, failedBy } from "./download-failure.ts";
import { type RequestAnswer, requestAnswer } from "./request-answer.ts";

export interface GetOptions extends ConnectorOptions {
  headers: Readonly<Record<string, string>>;
  /** From the request to the last of the answer's headers. */
  headersTimeoutMs: number;
  /** Between two pieces of the body, while we are waiting for one. */
  idleTimeoutMs: number;
}

/** The answer to one GET. Its connection is used for nothing else. */
export interface GetAnswer {
  statusCode: number;
  /** A header that was sent more than once has its values joined by commas. */
  header(name: string): string;
  /** Can be read once; throws `SourceFailed` when the body turns out not to be whole. */
  body: AsyncIterable<Uint8Array>;
  /** Closes the connection, wherever the reading has got to. May be called again. */
  release(): Promise<void>;
}

/** Every download ends with it, and an error made anew costs its stack. */
const stopped = new Error("the download was stopped");

/**
 * One GET over a new connection, so that each is resolved and checked anew. Throws `SourceFailed` when there is no
 * answer and `signal.reason` when the signal aborts, which also ends the reading of the body.
 *
 * We do not ask for `Connection: close`, although the connection is not kept: servers answer that with bodies that end
 * when the connection does, and such a body cannot be told from one that was cut.
 */
export async function httpGet(url: URL, options: GetOptions, signal: AbortSignal): Promise<GetAnswer> {
  signal.throwIfAborted();
  const connection = singleConnection(options);
  const client = new Client(url.origin, {
    connect: connection.connect,
    allowH2: false,
    headersTimeout: options.headersTimeoutMs,
    bodyTimeout: options.idleTimeoutMs,
  });
  // Also takes back a connection that is still being made, which a signal given to undici would not.
  const destroy = (reason: Error): Promise<void> => {
    connection.giveUp(reason);
    return client.destroy(reason);
  };
  const abort = (): void => void destroy(new Error("the download was aborted", { cause: signal.reason }));
  signal.addEventListener("abort", abort, { once: true });
  const release = (): Promise<void> => {
    signal.removeEventListener("abort", abort);
    return destroy(stopped);
  };
  const explain = (error: unknown, stage: "answer" | "body"): unknown =>
    signal.aborted ? signal.reason : failedBy(error, stage);

  const path = `${url.pathname}${url.search}`;
  const answer = await requestAnswer(client, { path, headers: options.headers }).catch(async (error) => {
    await release();
    throw explain(error, "answer");
  });
  const header = (name: string): string => [answer.headers[name] ?? []].flat().join(", ");

  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      yield* answer.body;
    } catch (error) {
      throw explain(error, "body");
    }
    if (endsWithConnection(answer) && !connection.endedInOrder()) throw failed("short_body");
  }

  return { statusCode: answer.statusCode, header, body: body(), release };
}

/** Dials once. undici would dial again for a request that it had not sent when the connection broke. */
function singleConnection(options: ConnectorOptions): {
  connect: buildConnector.connector;
  giveUp(reason: Error): void;
  endedInOrder(): boolean;
} {
  const connecting = new AbortController();
  const connectOnce = guardedConnector(options, connecting.signal);
  let used = false;
  let ended = false;
  const watch = (socket: Socket): void => void socket.once("end", () => (ended = true));

  return {
    connect(target, callback) {
      if (used) return callback(Object.assign(new Error("the connection broke"), { code: "ECONNRESET" }), null);
      used = true;
      connectOnce(target, (...result) => {
        const [, socket] = result;
        if (socket) watch(socket);
        callback(...result);
      });
    },
    giveUp: (reason) => connecting.abort(reason),
    endedInOrder: () => ended,
  };
}

/** Without a length such a body is whole only if the other side closed the connection and did not reset it. */
function endsWithConnection({ headers }: RequestAnswer): boolean {
  return headers["content-length"] === undefined && headers["transfer-encoding"] === undefined;
}
