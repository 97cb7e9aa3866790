import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { cannotListenOn } from "./cannot-listen.ts";
import type { IncomingCallback } from "./reception.ts";

export interface CallbackServerOptions {
  host: string;
  port: number;
  /** What a POST is answered. Throwing answers 500. */
  answer(request: IncomingCallback): Promise<{ status: number; text: string }>;
}

export interface CallbackServer extends AsyncDisposable {
  url: string;
}

/** No callback comes near it. */
const MAX_BYTES = 1024 * 1024;
const GRACE_MS = 2_000;

/** Takes POSTs on any path, with their bodies byte for byte. */
export async function callbackServer({ host, port, answer }: CallbackServerOptions): Promise<CallbackServer> {
  const server = createServer((request, response) => {
    handle(request, answer).then(
      ({ status, text }) => send(response, status, text),
      (error: unknown) => send(response, 500, error instanceof Error ? error.message : String(error)),
    );
  });
  server.listen(port, host);
  await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
    throw cannotListenOn(`${host}:${port}`, error);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      // One that never sent a request is not waited for.
      const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}

async function handle(
  request: IncomingMessage,
  answer: CallbackServerOptions["answer"],
): Promise<{ status: number; text: string }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= MAX_BYTES) chunks.push(chunk);
  }
  if (request.method !== "POST") return { status: 405, text: "callbacks are POSTed" };
  if (bytes > MAX_BYTES) return { status: 413, text: "no callback is so large" };
  return answer({ body: Buffer.concat(chunks), headers: request.headers, path: request.url ?? "/" });
}

/** The connection is closed, so that the server can be stopped at any time. */
function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    Connection: "close",
    ...(text !== "" && { "Content-Type": "text/plain; charset=utf-8" }),
  });
  response.end(text === "" ? undefined : `${text}\n`);
}
