import { parsedBody, type RawCallback } from "../callback/raw-request.ts";
import { CallbackRefusedError } from "../callback/refused.ts";
import { CALLBACK_MAX_BYTES, type CallbackVerifier } from "../callback/verifier.ts";
import { bytesIn, joined } from "../http/read-bytes.ts";
import { type CallbackHandler, type ReceiverOptions, receive, TEXT } from "./receive.ts";

/** As much of node:http's IncomingMessage as is used, and of what Express and others add to it. */
interface NodeRequest {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  url?: string | undefined;
  originalUrl?: string;
  /** What a body parser left. */
  body?: unknown;
  /** The bytes, where a parser kept them. */
  rawBody?: unknown;
  /** True when somebody has read from it. */
  readonly readableDidRead?: boolean;
  on(event: string, listener: (piece: Uint8Array) => void): unknown;
  resume(): unknown;
}

/** As much of node:http's ServerResponse as is used. */
interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(text: string): unknown;
}

/** For node:http, Express, Connect and Next.js API routes (with their body parser off). */
export function nodeReceiver(
  verifier: CallbackVerifier,
  handler: CallbackHandler,
  options: ReceiverOptions = {},
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  return async (request, response) => {
    const { status, text } = await receive(
      async () =>
        verifier.verifyRaw({
          body: await rawBody(request, options.maxBytes ?? CALLBACK_MAX_BYTES),
          headers: request.headers,
          url: request.originalUrl ?? request.url,
        }),
      handler,
      options,
    );
    // What was refused unread is thrown away, so that the answer gets through and the connection can be used again.
    request.resume();
    response.writeHead(status, text === "" ? {} : { "Content-Type": TEXT });
    response.end(text);
  };
}

async function rawBody(request: NodeRequest, maxBytes: number): Promise<RawCallback["body"]> {
  const kept = [request.rawBody, request.body].find((each) => typeof each === "string" || bytesIn(each));
  if (kept !== undefined) return kept as RawCallback["body"];
  if (request.readableDidRead) throw parsedBody("the request's body was parsed before");
  return readAll(request, maxBytes);
}

/** By events: leaving a loop over the request in mid-body would cut the connection and the answer with it. */
function readAll(request: NodeRequest, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let left = maxBytes;
    request.on("data", (chunk) => {
      left -= chunk.length;
      if (left >= 0) chunks.push(chunk);
      else reject(new CallbackRefusedError("too_big", `the body has more than ${maxBytes} bytes`));
    });
    request.on("end", () => resolve(joined(chunks)));
    request.on("error", () => reject(new Error("the connection was lost in mid-request")));
    request.on("close", () => reject(new Error("the connection was lost in mid-request")));
  });
}
