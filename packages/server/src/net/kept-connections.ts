import { CALLBACK_ANSWER_MAX_BYTES, CALLBACKS_PER_ORIGIN } from "@lazaret/contract";
import { type Answer, type ConnectorFactory, connectionBroke, openConnection } from "./exchange.ts";
import { idleConnections, type KeptConnection } from "./idle-connections.ts";

/** POSTs over connections that are kept for the next, by origin. */
export interface KeptConnections {
  /**
   * One POST, dialled at most once. Resolves when the answer's headers have come, as the status alone says whether it was
   * received. Throws `signal.reason` when the signal aborts, and whatever the exchange fails with.
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
  /** Any 2xx. Redirects are not followed, as they would take the client's headers elsewhere. */
  received: boolean;
  /** Resolves when the connection carries nothing of this POST any more. Never rejects. */
  ended: Promise<void>;
}

/** How long the rest of an answer is waited for. Nobody needs it; the connection can be used again if it is short. */
const REST_MS = 1_000;
const HEAD_MAX_BYTES = 16 * 1024;
const IDLE = { perOrigin: CALLBACKS_PER_ORIGIN, inAll: 500 };

export function keptConnections(connector: ConnectorFactory): KeptConnections {
  const open = new Set<KeptConnection>();
  const idle = idleConnections({ ...IDLE, drop });

  /** The caller's signal is the one time limit: undici's are started anew by every byte of a receiver that dribbles. */
  function connectTo(origin: string): KeptConnection {
    const onDisconnect = (): void => {
      if (idle.forget(kept)) void drop(kept);
    };
    const options = { connector, headMaxBytes: HEAD_MAX_BYTES, onDisconnect };
    const kept: KeptConnection = { origin, connection: openConnection(origin, options) };
    open.add(kept);
    return kept;
  }

  function drop(kept: KeptConnection): Promise<void> {
    open.delete(kept);
    idle.forget(kept);
    return kept.connection.drop(connectionBroke());
  }

  /** After the headers: whatever comes now, the connection is kept or gone soon. */
  async function finish(kept: KeptConnection, answer: Answer): Promise<void> {
    const tooSlow = setTimeout(() => void drop(kept), REST_MS);
    const whole = await isShort(answer.body);
    clearTimeout(tooSlow);
    if (whole && isReceived(answer) && kept.connection.connected && open.has(kept)) idle.keep(kept);
    else void drop(kept);
  }

  return {
    async post(url, { headers, body, mayReuse }, signal) {
      signal.throwIfAborted();
      const kept = (mayReuse ? idle.take(url.origin) : undefined) ?? connectTo(url.origin);
      const stay = kept.connection.dropOn(signal);
      try {
        const answer = await kept.connection.ask(url, { method: "POST", headers, body });
        return { statusCode: answer.statusCode, received: isReceived(answer), ended: finish(kept, answer) };
      } catch (error) {
        void drop(kept);
        throw signal.aborted ? signal.reason : error;
      } finally {
        stay();
      }
    },

    async close() {
      await Promise.all([...open].map(drop));
    },
  };
}

function isReceived({ statusCode }: Answer): boolean {
  return statusCode >= 200 && statusCode <= 299;
}

/** Whether the rest of an answer comes to an end, and that is near. */
async function isShort(body: AsyncIterable<Uint8Array>): Promise<boolean> {
  let bytes = 0;
  try {
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > CALLBACK_ANSWER_MAX_BYTES) return false;
    }
    return true;
  } catch {
    return false;
  }
}
