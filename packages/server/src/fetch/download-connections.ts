import { type Answer, type Connection, connectionBroke, openConnection } from "../net/exchange.ts";
import { failureCode } from "../net/failures.ts";
import {
  type ConnectorOptions,
  checkedAddresses,
  type Dial,
  guardedConnector,
  tcpDial,
} from "../net/guarded-connector.ts";
import { idleConnections, type KeptConnection } from "../net/idle-connections.ts";

/**
 * Connections for downloads, kept for the next file of the same origin where no server can mix up the two:
 *
 *   dialled ──▶ GET ──answer whole, its end beyond doubt──▶ idle ──name resolved and checked anew──▶ GET
 *                └──anything else──▶ closed                  └──4 s, a byte, too many, another address──▶ closed
 */
export interface DownloadConnections {
  /**
   * One GET. Asked anew over a new connection when one that was kept had been closed by the other side, and nothing came
   * back, or nothing that is an answer. Throws what the exchange fails with.
   */
  get(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Got>;
  /** Drops those that are idle. */
  close(): Promise<void>;
}

export interface Got {
  answer: Answer;
  connection: Pick<Connection, "endedInOrder">;
  /** Lets go of the connection, wherever the reading has got to; it may be kept. May be called again. */
  release(): Promise<void>;
}

export interface DownloadConnectionsOptions extends ConnectorOptions {
  headersTimeoutMs: number;
  idleTimeoutMs: number;
}

interface Kept extends KeptConnection {
  /** The one that was dialled; undefined when it is not known. */
  address: string | undefined;
}

/** As many as jobs and requests that fetch at once: whoever is the last to end would find its connection closed. */
const IDLE = { perOrigin: 32, inAll: 128 };

/** Every download ends with it, and an error made anew costs its stack. */
const stopped = new Error("the download was stopped");

export function downloadConnections(options: DownloadConnectionsOptions): DownloadConnections {
  const { headersTimeoutMs, idleTimeoutMs, dial = tcpDial } = options;
  const idle = idleConnections<Kept>({ ...IDLE, drop: ({ connection }) => connection.drop(stopped) });
  let closed = false;

  function connectTo(origin: string): Kept {
    const dialAndNote: Dial = async (target, signal) => {
      const socket = await dial(target, signal);
      kept.address = target.addresses.length === 1 ? target.addresses[0] : socket.remoteAddress;
      return socket;
    };
    const connection = openConnection(origin, {
      connector: (signal) => guardedConnector({ ...options, dial: dialAndNote }, signal),
      headersTimeoutMs,
      idleTimeoutMs,
      onDisconnect() {
        if (idle.forget(kept)) void connection.drop(stopped);
      },
    });
    const kept: Kept = { origin, connection, address: undefined };
    return kept;
  }

  /** One that a new connection would lead to the same place as: the name has its address now, and all it has are open. */
  async function takeIdle(url: URL, signal: AbortSignal): Promise<Kept | undefined> {
    const kept = idle.take(url.origin);
    if (!kept) return undefined;
    const addresses = await checkedAddresses(url, options, signal).catch((): readonly string[] => []);
    // undici lets one more turn pass before it writes: what has come by now is read in between, and closes the connection.
    await new Promise(setImmediate);
    if (addresses.includes(kept.address ?? "") && kept.connection.connected && !signal.aborted) return kept;
    void kept.connection.drop(stopped);
    return undefined;
  }

  async function ask(kept: Kept, url: URL, { headers, signal }: Request): Promise<Got> {
    const { connection } = kept;
    const stay = connection.dropOn(signal);
    let released: Promise<void> | undefined;
    const release = async (mayKeep: boolean): Promise<void> => {
      stay();
      if (mayKeep && connection.connected && !signal.aborted && !closed) idle.keep(kept);
      else await connection.drop(stopped);
    };
    const answer = await connection.ask(url, { method: "GET", headers }).catch(async (error) => {
      await release(false);
      throw error;
    });
    return {
      answer,
      connection,
      release() {
        released ??= release(answer.whole && endsBeyondDoubt(answer) && !authenticates(headers, answer));
        return released;
      },
    };
  }

  return {
    async get(url, headers, signal) {
      signal.throwIfAborted();
      const kept = await takeIdle(url, signal);
      if (kept) {
        try {
          return await ask(kept, url, { headers, signal });
        } catch (error) {
          if (signal.aborted || !isOfConnection(error, kept.connection)) throw error;
        }
      }
      signal.throwIfAborted();
      return await ask(connectTo(url.origin), url, { headers, signal });
    },
    async close() {
      closed = true;
      await idle.close();
    },
  };
}

interface Request {
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** A kept one had been closed before anything came back; or what came is no answer, and may have been late bytes of the last. */
function isOfConnection(error: unknown, { unheard }: Connection): boolean {
  const code = failureCode(error);
  return code === "bad_response" || (unheard && (code === connectionBroke().code || code === "EPIPE"));
}

/** Answers without a body, whatever they say: a server that sends one all the same is taken for the next answer. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Whether everybody on the way must agree where an answer ends: one length in digits, or chunks, and not both; of a usual
 * status, and the only answer. Chunks beside a `Connection` may be HTTP/1.0's, which knows none; headers behind the chunks may
 * be about the connection, and are heeded when it is too late.
 */
function endsBeyondDoubt({
  statusCode,
  headers,
  informed,
  trailed,
}: Pick<Answer, "statusCode" | "headers" | "informed" | "trailed">): boolean {
  if (informed || trailed || statusCode < 200 || statusCode > 499 || bodiless.has(statusCode)) return false;
  const { "content-length": length, "transfer-encoding": encoding, connection } = headers;
  if (encoding === undefined) return typeof length === "string" && /^\d+$/.test(length);
  return length === undefined && connection === undefined && encoding === "chunked";
}

const ofConnections = /\b(ntlm|negotiate)\b/i;

/** NTLM and Negotiate are for the connection, not for the request: the next one would be made in the name of this one. */
function authenticates(headers: Readonly<Record<string, string>>, answer: Answer): boolean {
  const words = [headers.authorization, answer.headers["www-authenticate"], answer.headers["persistent-auth"]];
  return answer.headers["persistent-auth"] !== undefined || ofConnections.test(words.flat().join());
}
