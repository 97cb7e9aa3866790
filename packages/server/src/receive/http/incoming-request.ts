import type { IncomingMessage, ServerResponse } from "node:http";
import { BlockList, isIP } from "node:net";
import { readBy, wholeWhenTaken } from "../../flow/whole-bytes.ts";
import type { LogFields } from "../../log.ts";
import { type ApiRequest, ONCE_ONLY, requestId, requestTarget } from "../request-answer.ts";

/** What is known of a request besides what node:http parsed. */
interface RequestContext {
  notes: Record<string, LogFields[string]>;
  remote: string;
}

/** A request of a connection that may end. */
export interface IncomingApiRequest extends ApiRequest {
  /** The client has hung up: whoever works for it is told. */
  clientGone(reason: Error): void;
}

/** A body up to this size that has arrived is taken at once. */
const WHOLE_BYTES = 64 * 1024;
const NO_BYTES = Buffer.alloc(0);

/** A request as node:http parsed it. Its body is read only when somebody asks for it. */
export function incomingRequest(
  message: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
): IncomingApiRequest {
  return new IncomingRequest(message, response, context);
}

/** A class, because an object that is written down with its getters costs as much as the rest of the request's parts together. */
class IncomingRequest implements IncomingApiRequest {
  readonly id: string;
  readonly method: string;
  readonly remote: string;
  readonly path: string;
  readonly headers: ApiRequest["headers"];
  readonly contentLength: number | undefined;
  bodyBegun = false;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #notes: RequestContext["notes"];
  readonly #query: string;
  readonly #hasBody: boolean;
  /** Made for those who ask for it: most requests are over before anybody does. */
  #gone: AbortController | undefined;
  #goneFor: Error | undefined;
  #stop: AbortController | undefined;

  constructor(message: IncomingMessage, response: ServerResponse, { notes, remote }: RequestContext) {
    const { path, query } = requestTarget(message.url ?? "/");
    const headers = message.headers as Record<string, string | undefined>;
    // As good as none: who of us and a proxy before us reads which of them is anybody's guess.
    if (hasRepeated(message.rawHeaders)) delete headers.host;
    const length = headers["content-length"];
    this.id = requestId(headers["x-request-id"]);
    this.method = message.method ?? "";
    this.remote = remote;
    this.path = path;
    this.headers = headers;
    const bytes = numberOf(length);
    this.#hasBody = headers["transfer-encoding"] !== undefined || (bytes ?? 0) > 0;
    this.contentLength = this.#hasBody ? bytes : 0;
    this.#message = message;
    this.#response = response;
    this.#notes = notes;
    this.#query = query;
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#query);
  }

  get signal(): AbortSignal {
    if (!this.#gone) {
      this.#gone = new AbortController();
      if (this.#goneFor) this.#gone.abort(this.#goneFor);
    }
    return this.#gone.signal;
  }

  stopWhenGone(stop: AbortController): void {
    this.#stop = stop;
    if (this.#goneFor) stop.abort(this.#goneFor);
  }

  clientGone(reason: Error): void {
    this.#goneFor = reason;
    this.#gone?.abort(reason);
    this.#stop?.abort(reason);
  }

  get body(): AsyncIterable<Uint8Array> {
    const { complete, readableLength } = this.#message;
    if (complete && readableLength <= WHOLE_BYTES && !this.bodyBegun) return wholeWhenTaken(() => this.#takeBody());
    return bodyChunks(this.#message, () => this.#begin());
  }

  get bodyArrived(): boolean {
    return !this.#hasBody || this.#message.complete;
  }

  note(fields: LogFields): void {
    Object.assign(this.#notes, fields);
  }

  #begin(): void {
    this.bodyBegun = true;
    if (this.headers.expect !== undefined && !this.#response.headersSent) this.#response.writeContinue();
  }

  #takeBody(): Uint8Array {
    this.#begin();
    const content: Buffer | null = this.#message.read();
    if (this.#message.readableLength > 0) throw new Error("a part of the body was left in the stream");
    return content ?? NO_BYTES;
  }
}

/**
 * A request's body, chunk by chunk, only as fast as it is read. Unlike the stream's own iterator it leaves the stream
 * alive when the reader stops early: the answer is still to be sent on the same connection. Throws when the client goes
 * away before the end. `begin` is called at the first read.
 */
function bodyChunks(message: IncomingMessage, begin: () => void): AsyncIterable<Uint8Array> {
  let state: "new" | "begun" | "waiting" | "done" = "new";
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
    if (state === "waiting")
      message.off("readable", onChange).off("end", onChange).off("close", onChange).off("error", onChange);
    state = "done";
    return { done: true, value: undefined };
  }

  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      if (state === "done") return { done: true, value: undefined };
      if (state === "new") {
        state = "begun";
        begin();
      }
      try {
        const next = take();
        if (next) return next;
      } catch (error) {
        stop();
        throw error;
      }
      // What is here already needs nobody to listen.
      if (state === "begun") {
        state = "waiting";
        message.on("readable", onChange).on("end", onChange).on("close", onChange).on("error", onChange);
      }
      waiting = Promise.withResolvers();
      return waiting.promise;
    },
    return: async () => stop(),
  };
  return readBy(() => iterator);
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
