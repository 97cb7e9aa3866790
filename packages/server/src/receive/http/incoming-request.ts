import type { IncomingMessage, ServerResponse } from "node:http";
import { BlockList, isIP } from "node:net";
import type { LogFields } from "../../log.ts";
import { type ApiRequest, ONCE_ONLY, requestId, requestTarget } from "../request-answer.ts";

/** A request as node:http parsed it. Its body is read only when somebody asks for it. */
export function incomingRequest(
  message: IncomingMessage,
  response: ServerResponse,
  context: { signal: AbortSignal; notes: Record<string, LogFields[string]>; remote: string },
): ApiRequest {
  const { path, query } = requestTarget(message.url ?? "/");
  // As good as none: who of us and a proxy before us reads which of them is anybody's guess.
  if (hasRepeated(message.rawHeaders)) delete message.headers.host;
  const hasBody = message.headers["transfer-encoding"] !== undefined || Number(message.headers["content-length"]) > 0;

  let bodyBegun = false;
  const begin = (): void => {
    bodyBegun = true;
    if (message.headers.expect !== undefined && !response.headersSent) response.writeContinue();
  };

  return {
    id: requestId(message.headers["x-request-id"]),
    method: message.method ?? "",
    remote: context.remote,
    path,
    get query() {
      return new URLSearchParams(query);
    },
    headers: message.headers as ApiRequest["headers"],
    contentLength: hasBody ? numberOf(message.headers["content-length"]) : 0,
    body: bodyChunks(message, begin),
    get bodyBegun() {
      return bodyBegun;
    },
    get bodyArrived() {
      return !hasBody || message.complete;
    },
    signal: context.signal,
    note: (fields) => void Object.assign(context.notes, fields),
  };
}

/**
 * A request's body, chunk by chunk, only as fast as it is read. Unlike the stream's own iterator it leaves the stream
 * alive when the reader stops early: the answer is still to be sent on the same connection. Throws when the client goes
 * away before the end. `begin` is called at the first read.
 */
function bodyChunks(message: IncomingMessage, begin: () => void): AsyncIterable<Uint8Array> {
  let state: "new" | "reading" | "done" = "new";
  let waiting: PromiseWithResolvers<IteratorResult<Uint8Array>> | undefined;

  /** The next chunk if it is here, the end if nothing more comes. */
  function take(): IteratorResult<Uint8Array> | undefined {
    const chunk: Buffer | null = message.read();
    if (chunk !== null) return { done: false, value: chunk };
    if (message.readableEnded || (message.complete && message.readableLength === 0)) return stop();
    if (message.errored) throw message.errored;
    if (message.destroyed) throw new Error("the connection closed before the body had arrived");
    return undefined;
  }

  function onChange(): void {
    const asked = waiting;
    if (!asked) return;
    try {
      const next = take();
      if (!next) return;
      waiting = undefined;
      asked.resolve(next);
    } catch (error) {
      waiting = undefined;
      stop();
      asked.reject(error);
    }
  }

  function stop(): IteratorReturnResult<undefined> {
    if (state === "reading")
      message.off("readable", onChange).off("end", onChange).off("close", onChange).off("error", onChange);
    state = "done";
    return { done: true, value: undefined };
  }

  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      if (state === "done") return { done: true, value: undefined };
      if (state === "new") {
        state = "reading";
        begin();
        message.on("readable", onChange).on("end", onChange).on("close", onChange).on("error", onChange);
      }
      try {
        const next = take();
        if (next) return next;
      } catch (error) {
        stop();
        throw error;
      }
      waiting = Promise.withResolvers();
      return waiting.promise;
    },
    return: async () => stop(),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

function hasRepeated(rawHeaders: readonly string[]): boolean {
  const seen: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    // Most headers are none of these by their length alone.
    if (!ONCE_ONLY_LENGTHS.has(name.length)) continue;
    const plainName = name.toLowerCase();
    if (!ONCE_ONLY.has(plainName)) continue;
    if (seen.includes(plainName)) return true;
    seen.push(plainName);
  }
  return false;
}

const ONCE_ONLY_LENGTHS: ReadonlySet<number> = new Set([...ONCE_ONLY].map((name) => name.length));

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

/** Who asks, by the address of the connection and the header X-Forwarded-For. */
export type ClientAddress = (peer: string | undefined, forwarded: string | undefined) => string;

/**
 * The header is believed as far as trusted proxies (CIDR blocks) wrote it: each adds the address it was asked from at the end,
 * so the last that is not a trusted proxy itself is the client. What stands before it the client may have made up.
 */
export function clientAddress(trustedProxies: readonly string[]): ClientAddress {
  const trusted = new BlockList();
  for (const network of trustedProxies) {
    const [address = "", bits] = network.split("/");
    trusted.addSubnet(address, Number(bits), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  const isTrusted = (address: string): boolean => trusted.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

  let last = { peer: "", client: "" };
  const plainPeer = (peer: string): string => {
    // Requests of one client come one after the other.
    if (peer !== last.peer) last = { peer, client: plain(peer) ?? peer };
    return last.client;
  };

  return (peer = "", forwarded = "") => {
    let client = plainPeer(peer);
    if (trustedProxies.length === 0) return client;
    const addresses = forwarded.split(",").map(plain);
    while (addresses.length > 0 && isIP(client) !== 0 && isTrusted(client)) {
      const before = addresses.pop();
      if (before === undefined) break;
      client = before;
    }
    return client;
  };
}

/** Without port and brackets, and IPv4 as such; undefined when it is no address. */
function plain(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](:\d+)?$/, "$1")
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1")
    .replace(/^::ffff:(?=\d+\.)/i, "");
  return isIP(bare) === 0 ? undefined : bare;
}

export function forwardedFor({ headers }: IncomingMessage): string | undefined {
  const header = headers["x-forwarded-for"];
  return Array.isArray(header) ? header.join(",") : header;
}
