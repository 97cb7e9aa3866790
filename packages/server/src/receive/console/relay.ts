import type { IncomingMessage } from "node:http";
import type { LogFields } from "../../log.ts";
import { request as httpRequest } from "../../net/node-http.ts";
import { ASKED_FOR } from "../http/incoming-request.ts";
import { type Problem, tryLater } from "../problem.ts";
import type { Answer, ApiRequest } from "../request-answer.ts";
import type { Handle, Route } from "../route.ts";
import { type AdminHandlers, consoleEndpoints } from "./endpoints.ts";

/**
 * Several processes, one console: what is asked of any of them the first one answers, who alone knows sessions that have ended, wrong
 * logins, tasks, and what all do. Requests go to it as they came, over a socket that nobody else can reach; it lets in or not, as if they
 * had come to it.
 */

/** What the first notes for the log: the line is that of the process that was asked. */
const NOTES = "X-Lazaret-Notes";
/** An answer up to this size is taken whole, so that its connection can be kept. */
const WHOLE_BYTES = 1024 * 1024;
/** Of one connection, and so not of the next. */
const HOP_BY_HOP = ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];
const LEFT_OUT: ReadonlySet<string> = new Set([...HOP_BY_HOP, "content-length", "date", NOTES.toLowerCase()]);

/** Asks the process that listens on that socket. */
export function relay(socketPath: string): Handle {
  return async (request) => {
    const { method, path, signal } = request;
    const query = request.query.toString();
    const target = query === "" ? path : `${path}?${query}`;
    const asked = httpRequest({ socketPath, method, path: target, headers: headersOf(request), signal, agent: false });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      asked.once("response", resolve).on("error", reject);
    });
    // Who waits for 100 Continue waits for that of the first.
    if (request.contentLength === 0) asked.end();
    else if (request.headers.expect === undefined) void sendBody();
    else asked.once("continue", () => void sendBody()).flushHeaders();
    try {
      return await answerFrom(await answered, request);
    } catch (error) {
      asked.destroy();
      throw away(request, error as Error);
    }

    /** Until it is answered: an answer may come early. */
    async function sendBody(): Promise<void> {
      let over = false;
      let goOn = (): void => {};
      for (const event of ["response", "close"] as const) {
        asked.once(event, () => {
          over = true;
          goOn();
        });
      }
      asked.on("drain", () => goOn());
      try {
        for await (const chunk of request.body) {
          if (over) return;
          if (asked.write(chunk)) continue;
          await new Promise<void>((resolve) => {
            goOn = resolve;
          });
        }
        asked.end();
      } catch (error) {
        asked.destroy(error as Error);
      }
    }
  };
}

/** The same routes, where another process answers for the console. Nobody is let in here: that is for the other to say. */
export function relayedRoutes(routes: readonly Route[], handle: Handle): Route[] {
  return routes.map((route) => {
    if (!isRelayed(route)) return route;
    const { console, ...rest } = route;
    return { ...rest, open: true, handle };
  });
}

/** The page itself is the same everywhere. */
export function isRelayed({ path }: Pick<Route, "path">): boolean {
  return path.startsWith("/admin/");
}

export function relayedHandlers(handle: Handle): AdminHandlers {
  return Object.fromEntries(Object.keys(consoleEndpoints).map((name) => [name, handle])) as Record<
    keyof AdminHandlers,
    Handle
  >;
}

/** Answers those who relay, and tells them what is to be in their log. */
export function answerRelayed(
  handle: (request: ApiRequest) => Promise<Answer>,
): (request: ApiRequest) => Promise<Answer> {
  return async (request) => {
    const notes: Record<string, LogFields[string]> = {};
    request.note = (fields) => void Object.assign(notes, fields);
    const answer = await handle(request);
    const told = Buffer.from(JSON.stringify(notes)).toString("base64url");
    return { ...answer, headers: { ...answer.headers, [NOTES]: told } };
  };
}

function headersOf({ id, remote, headers, contentLength }: ApiRequest): Record<string, string | number> {
  const passed = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === "string" && !LEFT_OUT.has(name) ? [[name, value]] : [],
  );
  return {
    ...Object.fromEntries(passed),
    // A client may have sent them, too: these stand.
    [ASKED_FOR]: remote,
    "x-request-id": id,
    ...(contentLength !== undefined && { "content-length": contentLength }),
  };
}

async function answerFrom(response: IncomingMessage, request: ApiRequest): Promise<Answer> {
  const { statusCode: status = 502, rawHeaders } = response;
  const told = response.headers[NOTES.toLowerCase()];
  if (typeof told === "string") request.note(JSON.parse(Buffer.from(told, "base64url").toString()));
  const headers: Record<string, string> = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (!LEFT_OUT.has(name.toLowerCase())) headers[name] = rawHeaders[at + 1] ?? "";
  }
  const announced = response.headers["content-length"];
  if (request.method === "HEAD" || status === 204 || status === 304) {
    response.resume();
    return { status, headers: { ...headers, ...(announced !== undefined && { "Content-Length": announced }) } };
  }
  const type = response.headers["content-type"] ?? "";
  if (type.startsWith("text/event-stream")) return { status, headers, events: textsOf(response) };
  const length = announced === undefined ? undefined : Number(announced);
  if (length === undefined || length > WHOLE_BYTES) {
    return { status, headers, stream: { bytes: response, ...(length !== undefined && { length }) } };
  }
  const content = Buffer.concat(await response.toArray());
  return length === 0 ? { status, headers } : { status, headers, rendered: { type, content } };
}

/** Who wants no more of them waits for none. */
function textsOf(response: IncomingMessage): AsyncIterable<string> {
  response.setEncoding("utf8");
  return {
    [Symbol.asyncIterator]() {
      const texts = response.iterator({ destroyOnReturn: true }) as AsyncIterator<string>;
      return {
        next: () => texts.next(),
        async return() {
          response.destroy();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function away(request: ApiRequest, error: Error): Problem | Error {
  // Nobody is left to answer.
  if (request.signal.aborted) return error;
  request.note({ error: error.message });
  return tryLater(
    "console_away",
    "the process that answers for the console is being started again",
    "try again; what had begun is in the audit log",
  );
}
