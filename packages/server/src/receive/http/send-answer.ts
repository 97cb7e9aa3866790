import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Answer, answerBody } from "../request-answer.ts";

export interface SendOptions {
  requestId: string;
  /** Close the connection afterwards. */
  close: boolean;
  /** The request, whose body may not have been read. */
  unread: IncomingMessage;
  timings: { lingerMs: number; unreadMs: number };
}

/**
 * How much of an unwanted body is thrown away. Then nothing more is read: whoever sends has to wait, and looks for the answer. A proxy
 * that is cut instead, in the middle of its sending, does not look, and says 502.
 */
const LINGER_BYTES = 1024 * 1024;

/** Undefined where there is nothing to wait for. */
export function sendAnswer(response: ServerResponse, answer: Answer, options: SendOptions): Promise<void> | undefined {
  const { stream } = answer;
  if (stream) {
    cutIfUnread(response, options);
    return sendStream(response, { ...answer, stream }, options);
  }
  const body = answerBody(answer);
  const length = body ? Buffer.byteLength(body.content) : 0;
  const headers: Record<string, string | number> = {
    "X-Request-Id": options.requestId,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  };
  if (body) headers["Content-Type"] = body.type;
  if (answer.status !== 204 && answer.status !== 304) headers["Content-Length"] = length;
  if (options.close) headers.Connection = "close";
  response.writeHead(answer.status, Object.assign(headers, answer.headers));
  if (!options.close || options.unread.complete) {
    // Head and body leave in one piece. What has as many bytes as characters needs no encoding.
    response.end(body?.content, length === body?.content.length ? "latin1" : "utf8");
    if (response.socket?.writableLength !== 0) cutIfUnread(response, options);
    return undefined;
  }
  cutIfUnread(response, options);
  // Closing while the client still sends would reset the connection and take the answer with it. So the answer leaves
  // whole, and what still comes is thrown away for a moment.
  if (body && options.unread.method !== "HEAD") response.write(body.content);
  else response.flushHeaders();
  return thrownAway(options.unread, options.timings.lingerMs).then(() => void response.end());
}

/** Of a connection that moves no byte, in either direction; ends with the answer. */
function cutIfUnread(response: ServerResponse, { timings: { unreadMs } }: SendOptions): void {
  response.setTimeout(unreadMs, () => response.destroy());
}

async function sendStream(
  response: ServerResponse,
  { status, headers, stream }: Answer & { stream: NonNullable<Answer["stream"]> },
  { requestId, unread }: SendOptions,
): Promise<void> {
  response.writeHead(status, {
    "X-Request-Id": requestId,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Type": "application/octet-stream",
    ...(stream.length !== undefined && { "Content-Length": stream.length }),
    Connection: "close",
    ...headers,
  });
  const bytes = Readable.from(stream.bytes, { objectMode: false });
  if (unread.method === "HEAD") {
    bytes.destroy();
    response.end();
    return;
  }
  // A pipeline that fails destroys the response.
  await pipeline(bytes, response).catch(() => {});
}

function thrownAway(message: IncomingMessage, lingerMs: number): Promise<void> {
  return new Promise((resolve) => {
    let left = LINGER_BYTES;
    const timer = setTimeout(resolve, lingerMs);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    message.on("data", (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) message.pause();
    });
    message.once("end", end);
    message.once("close", end);
    message.once("error", end);
    message.resume();
  });
}
