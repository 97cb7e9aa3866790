import { DOWNLOAD_MAX_REDIRECTS, SYNC_TIMEOUT_SECONDS } from "@lazaret/contract";
import { removeItem } from "../flow/remove-item.ts";
import { firstOf } from "../flow/time-limit.ts";
import { readBy } from "../flow/whole-bytes.ts";
import type { OpenedSource, UrlSource } from "../model/source.ts";
import type { AddressGuard } from "../net/address-guard.ts";
import type { ConnectorOptions } from "../net/guarded-connector.ts";
import type { OriginList } from "../net/origin-list.ts";
import { type Span, traceHeaders } from "../traces/spans.ts";
import { decoderFor } from "./decode-body.ts";
import { downloadConnections, type Got } from "./download-connections.ts";
import { failed, failedBy, failedStatus } from "./download-failure.ts";

export interface DownloadOptions extends Omit<ConnectorOptions, "guard"> {
  guard: AddressGuard;
  /** Sent to servers as `lazaret/<version>`, unless the client has a User-Agent of its own. */
  version: string;
  headersTimeoutMs?: number;
  idleTimeoutMs?: number;
  /** Who is sent the place of a download in its trace. Nobody by default. */
  traced?: OriginList;
}

export interface HttpDownload {
  /**
   * The bytes of a file, as they arrive and only as fast as they are read. Throws `SourceFailed`, here or from the
   * middle of the bytes, when they are not or will not be the whole file; throws `signal.reason` when the signal
   * aborts. The connection is held until the bytes have been read, reading is stopped (`return()`), or the signal aborts.
   */
  open(source: UrlSource, signal: AbortSignal, span?: Span): Promise<OpenedSource>;
  /** Drops every connection. Downloads under way fail. */
  close(): Promise<void>;
}

/**
 * So long may a server be silent, before its headers and between two pieces. Longer than a synchronous request may take: its
 * 60 seconds end it, with 504, and a download that fails on its own is something else.
 * @internal a test compares it with what a request may take
 */
export const SILENCE_MS: number = (SYNC_TIMEOUT_SECONDS + 5) * 1000;

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** 2xx without a file, with a part of one, or with the difference between two. */
const notTheFile: ReadonlySet<number> = new Set([204, 205, 206, 226]);

/** The answer to one GET. Until it is released, its connection is used for nothing else. */
interface GetAnswer {
  statusCode: number;
  /** A header that was sent more than once has its values joined by commas. */
  header(name: string): string;
  /** Can be read once; throws `SourceFailed` when the body turns out not to be whole. */
  body: AsyncIterable<Uint8Array>;
  /** Lets go of the connection, wherever the reading has got to. May be called again. */
  release(): Promise<void>;
}

export function httpDownload(options: DownloadOptions): HttpDownload {
  const { guard, version, headersTimeoutMs = SILENCE_MS, idleTimeoutMs = SILENCE_MS, traced } = options;
  const connections = downloadConnections({ ...options, headersTimeoutMs, idleTimeoutMs });
  const underWay: { abort(reason: Error): void }[] = [];
  let closed: Error | undefined;

  /**
   * One GET. Throws `SourceFailed` when there is no answer and `signal.reason` when the signal aborts, which also ends the
   * reading of the body.
   *
   * We do not ask for `Connection: close`, also where the connection will not be kept: servers answer that with bodies that
   * end when the connection does, and such a body looks like one that was cut.
   */
  async function get(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<GetAnswer> {
    signal.throwIfAborted();
    const explain = (error: unknown, stage: "answer" | "body"): unknown =>
      signal.aborted ? signal.reason : failedBy(error, stage);

    const got = await connections.get(url, headers, signal).catch((error) => {
      throw explain(error, "answer");
    });
    const { answer, release } = got;
    const body = bodyOf(got, (error) => explain(error, "body"));
    const header = (name: string): string => {
      const value = answer.headers[name] ?? "";
      return typeof value === "string" ? value : value.join(", ");
    };
    return { statusCode: answer.statusCode, header, body, release };
  }

  /** Follows redirects by hand: each hop is checked. */
  async function follow(source: UrlSource, signal: AbortSignal, span: Span | undefined): Promise<GetAnswer> {
    let url = permitted(guard, source.url);
    let clientHeaders = source.headers;
    for (let followed = 0; ; followed += 1) {
      const trace = span && traced?.(url) ? traceHeaders(span, clientHeaders) : {};
      const headers = requestHeaders(clientHeaders, version, trace);
      const answer = await get(url, headers, signal);
      const location = answer.header("location");
      if (!redirects.has(answer.statusCode) || location === "") return answer;

      await answer.release();
      if (followed === DOWNLOAD_MAX_REDIRECTS) throw failed("too_many_redirects");
      const next = permitted(guard, asUtf8(location), url);
      // They may be credentials, and are meant for the first origin only; coming back to it does not restore them.
      if (next.origin !== url.origin) clientHeaders = {};
      url = next;
    }
  }

  return {
    async open(source, signal, span) {
      signal.throwIfAborted();
      if (closed) throw closed;
      const download = firstOf([signal]);
      underWay.push(download);
      let answer: GetAnswer | undefined;
      const release = async (): Promise<void> => {
        download[Symbol.dispose]();
        removeItem(underWay, download);
        await answer?.release();
      };
      try {
        answer = await follow(source, download.signal, span);
        return { bytes: releasing(wholeFile(answer), release), ...announcedLength(answer) };
      } catch (error) {
        await release();
        throw error;
      }
    },
    async close() {
      closed = new Error("the downloader is closed");
      for (const download of [...underWay]) download.abort(closed);
      await connections.close();
    },
  };
}

function permitted(guard: AddressGuard, link: string, base?: URL): URL {
  const destination = guard.checkLink(link, base);
  if (destination.kind === "allowed") return destination.url;
  if (destination.kind === "blocked") throw failed("blocked_destination");
  throw failed(base ? "bad_redirect" : "invalid_url");
}

/** Ours, overruled by the client's except for the encoding: the bytes should arrive as they are stored. */
function requestHeaders(clientHeaders: Headers, version: string, trace: Headers): Record<string, string> {
  const given = Object.entries(clientHeaders).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries([
    ["accept", "*/*"],
    ["user-agent", `lazaret/${version}`],
    ...Object.entries(trace),
    ...given,
    ["accept-encoding", "identity"],
  ]);
}

type Headers = Readonly<Record<string, string>>;

/** Header values come as latin1; servers that put raw letters into a Location mean UTF-8. */
function asUtf8(location: string): string {
  return Buffer.from(location, "latin1").toString("utf8");
}

function bodyOf(
  { answer: { headers, body }, connection }: Got,
  explain: (error: unknown) => unknown,
): AsyncIterable<Uint8Array> {
  // Without a length a body is whole only if the other side closed the connection and did not reset it.
  const endsWithConnection = headers["content-length"] === undefined && headers["transfer-encoding"] === undefined;
  const pieces = body[Symbol.asyncIterator]();
  async function next(): Promise<IteratorResult<Uint8Array>> {
    const piece = await pieces.next().catch((error) => {
      throw explain(error);
    });
    if (piece.done && endsWithConnection && !connection.endedInOrder) throw failed("short_body");
    return piece;
  }
  return readBy(() => ({ next }));
}

/** The file in an answer, decoded where the server encoded it unasked. */
function wholeFile(answer: GetAnswer): AsyncIterable<Uint8Array> {
  const { statusCode } = answer;
  if (statusCode < 200 || statusCode > 299 || notTheFile.has(statusCode)) throw failedStatus(statusCode);
  // undici takes off the chunks only: with `gzip, chunked` the bytes would not be the file's.
  const framing = answer.header("transfer-encoding").trim().toLowerCase();
  const decode = decoderFor(answer.header("content-encoding"));
  if (!decode || (framing !== "" && framing !== "chunked")) throw failed("unsupported_encoding");
  return decode(answer.body);
}

/** Known before the first byte, unless the server encoded the file. */
function announcedLength(answer: GetAnswer): { announcedBytes?: number } {
  const length = answer.header("content-length");
  return answer.header("content-encoding") === "" && /^\d+$/.test(length) ? { announcedBytes: Number(length) } : {};
}

/** Lets go of the connection when the bytes end, in whatever way, also when reading stops before it began. */
function releasing(bytes: AsyncIterable<Uint8Array>, release: () => Promise<void>): AsyncIterable<Uint8Array> {
  let pieces: AsyncIterator<Uint8Array> | undefined;
  let ended = false;

  async function end(): Promise<IteratorReturnResult<undefined>> {
    ended = true;
    await release();
    return { done: true, value: undefined };
  }

  async function next(): Promise<IteratorResult<Uint8Array>> {
    if (ended) return { done: true, value: undefined };
    pieces ??= bytes[Symbol.asyncIterator]();
    try {
      const piece = await pieces.next();
      return piece.done ? await end() : piece;
    } catch (error) {
      await end();
      throw error;
    }
  }

  return readBy(() => ({
    next,
    // Released first: one that waits for the next bytes would answer return() only after they came.
    async return() {
      const last = await end();
      await pieces?.return?.();
      return last;
    },
  }));
}
