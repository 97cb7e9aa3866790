import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { quietTurn } from "../../flow/quiet-turn.ts";
import type { Log, LogFields } from "../../log.ts";
import { createServer, STATUS_CODES } from "../../net/node-http.ts";
import { badRequest, Problem, problemBody } from "../problem.ts";
import { type Answer, type ApiRequest, CLIENT_GONE } from "../request-answer.ts";
import { clientAddress, forwardedFor, incomingRequest } from "./incoming-request.ts";
import { type Connection, oneAtATime } from "./one-at-a-time.ts";
import { type SendOptions, sendAnswer } from "./send-answer.ts";
import { type LiveStream, sendEvents } from "./send-events.ts";

export interface HttpServerOptions {
  host: string;
  port: number;
  tls?: { certPath: string; keyPath: string };
  /** Answers every request; never throws. */
  handle(request: ApiRequest): Promise<Answer>;
  log: Log;
  /** Networks of proxies whose X-Forwarded-For is believed. */
  trustedProxies?: readonly string[];
  timings?: Partial<HttpTimings>;
}

export interface HttpTimings {
  /** A client that is slower than this with its headers gets 408. */
  headersMs: number;
  /** …and with its whole request, when nothing else ended it before. */
  requestMs: number;
  /** How long a client that was answered early may go on sending before it is cut off. */
  lingerMs: number;
  /** How long a client may leave the next piece of its answer unread before it is cut off. */
  unreadMs: number;
}

export interface RunningServer {
  readonly port: number;
  /** Goes on as before, but closes each connection after its answers, so that clients go elsewhere. */
  drain(): void;
  /** Stops accepting, lets requests under way finish for at most `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>;
}

const TIMINGS: HttpTimings = { headersMs: 15_000, requestMs: 65_000, lingerMs: 2_000, unreadMs: 30_000 };
const MAX_HEADER_BYTES = 16 * 1024;
/**
 * Longer than a load balancer keeps its side (60 s by default, 65 s in our stacks): never us who close under its request.
 * @internal a test of the stacks compares it with the load balancer
 */
export const KEEP_ALIVE_MS = 75_000;

/** For so long a new connection, and one that was just answered, may have its next request under way. */
const FIRST_REQUEST_MS = 1000;
const NEXT_REQUEST_MS = 250;
/** While it closes, how often it looks for connections that are idle. */
const LOOK_MS = 50;

/** The last connection has gone. */
const ALL_CLOSED = "all closed";

/** The client hung up. Nobody is left to answer. */
const clientGone = new Error("the client has gone");
clientGone.name = "ClientGone";

export async function startHttpServer(options: HttpServerOptions): Promise<RunningServer> {
  const timings = { ...TIMINGS, ...options.timings };
  const addressOf = clientAddress(options.trustedProxies ?? []);
  /** All, also those that are not ready for requests yet: with TLS, whose handshake goes on. */
  const sockets = new Set<Socket>();
  const connections = new Map<Socket, Connection>();
  // Weak, as what happens to a connection may be noted after its end.
  const states = new WeakMap<Socket, ConnectionState>();
  /** Those that have come while it stops to listen. */
  let held: Socket[] | undefined;
  let accepted = 0;
  let closing = false;

  /** Streams that go on until somebody ends them. */
  const live = new Set<LiveStream>();

  function answered(response: ServerResponse, answer: Answer, send: SendOptions): Promise<void> | undefined {
    const { events } = answer;
    if (!events) return sendAnswer(response, answer, send);
    if (response.req.method === "HEAD") {
      events[Symbol.asyncIterator]()
        .return?.()
        .then(undefined, () => {});
      return sendAnswer(response, answer, send);
    }
    const stream = sendEvents(response, { ...answer, events }, send);
    live.add(stream);
    if (closing) stream.end();
    return stream.over.finally(() => live.delete(stream));
  }

  function drain(): void {
    closing = true;
    for (const stream of live) stream.end();
  }

  function stateOf(socket: Socket): ConnectionState {
    let state = states.get(socket);
    if (!state) {
      state = { underWay: undefined, mayAskUntil: 0 };
      states.set(socket, state);
    }
    return state;
  }

  async function onRequest(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = message;
    const connection = connections.get(socket);
    const state = stateOf(socket);
    const othersFirst = connection?.turn(message, response);
    if (othersFirst) await othersFirst;
    const started = performance.now();
    let gone = false;
    const notes: UnderWay["notes"] = {};
    state.underWay = { response, notes };
    response.once("close", () => {
      state.underWay = undefined;
      state.mayAskUntil = performance.now() + NEXT_REQUEST_MS;
      gone = !response.writableFinished;
      if (gone) request.clientGone(clientGone);
      if (closing && !connection?.busy) socket.destroySoon();
    });
    const remote = addressOf(socket.remoteAddress, forwardedFor(message));
    const request = incomingRequest(message, response, { notes, remote });
    // After the parser's turn: by then a small body is here, if it came with its headers.
    await undefined;
    const answer = await options.handle(request);
    // A connection that is closed takes the requests behind this one with it.
    const close = (closing && !connection?.more) || connection?.last === true || !request.bodyArrived;
    const send = { requestId: request.id, close, unread: message, timings };
    const status = gone ? CLIENT_GONE : answer.status;
    const sent = gone ? undefined : answered(response, answer, send);
    const say = answer.routine && status !== CLIENT_GONE ? options.log.debug : options.log;
    say("request", {
      request_id: request.id,
      method: request.method,
      path: request.path,
      endpoint: answer.endpoint,
      status,
      ms: Math.round((performance.now() - started) * 10) / 10,
      remote,
      ...notes,
    });
    if (sent) await sent;
  }

  const serverOptions: ServerOptions = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timings.headersMs,
    requestTimeout: timings.requestMs,
    connectionsCheckingInterval: Math.min(1000, timings.headersMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // We answer a missing Host ourselves, in our own words.
    requireHostHeader: false,
    noDelay: true,
  };
  const server: Server = options.tls
    ? createTlsServer({
        ...serverOptions,
        cert: readFileSync(options.tls.certPath),
        key: readFileSync(options.tls.keyPath),
      })
    : createServer(serverOptions);
  server.on("request", onRequest);
  // 100 Continue is sent when the body is first read, that is after the key and the headers were checked.
  server.on("checkContinue", onRequest);
  server.on("checkExpectation", onRequest);
  server.on("connection", (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      if (sockets.size === 0) server.emit(ALL_CLOSED);
    });
  });
  server.on(options.tls ? "secureConnection" : "connection", (socket: Socket) => {
    connections.set(socket, oneAtATime(socket));
    stateOf(socket).mayAskUntil = performance.now() + FIRST_REQUEST_MS;
    held?.push(socket.pause());
    socket.once("close", () => connections.delete(socket));
  });
  // What is idle we know better: node:http takes an answer for done that has not left yet, and does not read what has come.
  server.closeIdleConnections = () => {};

  function closeIdle(): void {
    const now = performance.now();
    for (const [socket, { busy }] of connections) {
      const { underWay, mayAskUntil } = stateOf(socket);
      if (!busy && !underWay && mayAskUntil <= now) socket.destroy();
    }
  }

  async function stopListening(): Promise<void> {
    held = [];
    await quietTurn(() => accepted);
    // They could not ask before.
    for (const socket of held ?? []) {
      stateOf(socket).mayAskUntil = performance.now() + FIRST_REQUEST_MS;
      socket.resume();
    }
    held = undefined;
    server.close();
    // The rest of this turn, and one in which all is read that has come: whoever lets us stop may be heard before a request is.
    for (let turns = 0; turns < 2; turns += 1) await new Promise(setImmediate);
    closeIdle();
  }

  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    answerParseError(error, socket, { underWay: stateOf(socket).underWay, log: options.log });
  });

  async function listen(): Promise<number> {
    const { host, port } = options;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port }, () => {
        server.off("error", reject);
        resolve();
      });
    });
    return (server.address() as AddressInfo).port;
  }

  return {
    port: await listen(),

    drain,

    async close(graceMs) {
      drain();
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      await stopListening();
      const closed = sockets.size > 0 && once(server, ALL_CLOSED);
      // Each time after it has read what has come: a machine may be so busy that all this time was one turn.
      const looking = setInterval(() => setImmediate(closeIdle), LOOK_MS);
      await closed;
      clearInterval(looking);
      clearTimeout(cut);
    },
  };
}

interface ConnectionState {
  underWay: UnderWay | undefined;
  /** Until when a request may be on its way, though the connection is idle. */
  mayAskUntil: number;
}

/** A request that had begun before the connection went wrong. */
interface UnderWay {
  response: ServerResponse;
  /** Become part of the request's log line. */
  notes: Record<string, LogFields[string]>;
}

interface ParseErrorContext {
  underWay: UnderWay | undefined;
  log: Log;
}

/** Answers what is not HTTP, or too much of it, or too slow, and closes: after such bytes nothing can be trusted. */
function answerParseError(error: NodeJS.ErrnoException, socket: Socket, context: ParseErrorContext): void {
  const { underWay, log } = context;
  const clientLeft = error.code === "ECONNRESET" || error.code === "EPIPE" || error.code === "HPE_INVALID_EOF_STATE";
  if (!socket.writable || underWay?.response.headersSent || (clientLeft && underWay)) {
    socket.destroy();
    return;
  }
  const problem = problemOf(error.code ?? "");
  const requestId = randomUUID();
  const fields = { request_id: requestId, status: problem.status, code: problem.code, error: error.code };
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
