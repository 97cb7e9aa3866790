import { randomUUID } from "node:crypto";
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Log, LogFields } from "../../log.ts";
import { badRequest, Problem, problemBody } from "../problem.ts";

/** A request that had begun before the connection went wrong. */
export interface UnderWay {
  response: ServerResponse;
  /** Become part of the request's log line. */
  notes: Record<string, LogFields[string]>;
}

export interface ParseErrorContext {
  underWay: UnderWay | undefined;
  log: Log;
}

/** Answers what is not HTTP, or too much of it, or too slow, and closes: after such bytes nothing can be trusted. */
export function answerParseError(error: NodeJS.ErrnoException, socket: Socket, context: ParseErrorContext): void {
  const { underWay, log } = context;
  const clientLeft = error.code === "ECONNRESET" || error.code === "EPIPE" || error.code === "HPE_INVALID_EOF_STATE";
  if (!socket.writable || underWay?.response.headersSent || (clientLeft && underWay)) {
    socket.destroy();
    return;
  }
  const problem = problemOf(error.code ?? "");
  const requestId = randomUUID();
  const fields = { request_id: requestId, status: problem.status, code: problem.code, why: error.code };
  if (underWay) Object.assign(underWay.notes, fields);
  else log("request", fields);
  const body = JSON.stringify(problemBody(problem, requestId));
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
      "Connection: close",
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      "",
      body,
    ].join("\r\n"),
    () => socket.destroy(),
  );
}

function problemOf(code: string): Problem {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new Problem(431, "headers_too_large", { message: "the request's headers are larger than 16 KB" });
  }
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") {
    return new Problem(413, "body_too_large", { message: "the chunk extensions are larger than 16 KB" });
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new Problem(408, "request_timeout", { message: "the request did not arrive in time" });
  }
  return badRequest("invalid_http", "the request is not valid HTTP", "check Content-Length and Transfer-Encoding");
}
