import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  CallbackRefusedError,
  createCallbackVerifier,
  type RefusalReason,
  type VerifiedCallback,
} from "@lazaret/client";
import { CannotStart } from "../../compose/cannot-start.ts";

/** A signature that fits no key may be of a newer one, which is asked for at most this often. */
const ASK_AGAIN_MS = 10_000;
/** Far more than any callback has. */
const MAX_BYTES = 1024 * 1024;
const GRACE_MS = 2_000;

/** A POST as it came. */
export interface IncomingCallback {
  body: Uint8Array;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Path and query. */
  path: string;
}

export type ReceivedCallback =
  | { kind: "authentic"; callback: VerifiedCallback }
  | { kind: "refused"; reason: RefusalReason; message: string }
  /** The server does not sign: who sent it cannot be told. */
  | { kind: "unsigned" };

export interface CallbackReceiverOptions {
  /** PEM of the keys as they are now; undefined when the server does not sign. */
  keys(): Promise<string | undefined>;
  /** Where jobs call back to, if it is not what the request itself says. */
  callbackUrl?: string | undefined;
  tenantId?: string | undefined;
  now?: () => number;
}

export interface CallbackReceiver {
  /** False when the server does not sign. */
  signed: boolean;
  receive(request: IncomingCallback): Promise<ReceivedCallback>;
}

/** Verifies callbacks with the keys of the server, and fetches them again when none fits. */
export async function callbackReceiver(options: CallbackReceiverOptions): Promise<CallbackReceiver> {
  const { callbackUrl, tenantId, now = Date.now } = options;
  let publicKey = await options.keys();
  let askedAt = now();

  async function check(request: IncomingCallback): Promise<ReceivedCallback> {
    if (publicKey === undefined) return { kind: "unsigned" };
    let refused: ReceivedCallback = { kind: "unsigned" };
    for (const url of callbackUrl === undefined ? urlsOf(request) : [callbackUrl]) {
      try {
        const verifier = createCallbackVerifier({ publicKey, callbackUrl: url, tenantId, now });
        return { kind: "authentic", callback: await verifier.verifyRaw(request) };
      } catch (error) {
        if (!(error instanceof CallbackRefusedError)) throw error;
        refused = { kind: "refused", reason: error.reason, message: error.message };
      }
    }
    return refused;
  }

  return {
    signed: publicKey !== undefined,
    async receive(request) {
      const first = await check(request);
      if (first.kind !== "refused" || first.reason !== "bad_signature" || now() - askedAt < ASK_AGAIN_MS) return first;
      askedAt = now();
      publicKey = await options.keys().catch(() => publicKey);
      return check(request);
    },
  };
}

/** The callback_urls that lead to such a request: without a path it may have been submitted with or without a slash. */
function urlsOf({ headers, path }: IncomingCallback): string[] {
  const first = (name: string): string | undefined => [headers[name]].flat()[0]?.split(",")[0]?.trim();
  const origin = `${first("x-forwarded-proto") ?? "http"}://${first("x-forwarded-host") ?? first("host") ?? ""}`;
  return path === "/" ? [origin, `${origin}/`] : [`${origin}${path}`];
}

export interface CallbackServerOptions {
  host: string;
  port: number;
  /** What a POST is answered. Throwing answers 500. */
  answer(request: IncomingCallback): Promise<{ status: number; text: string }>;
}

export interface CallbackServer extends AsyncDisposable {
  url: string;
}

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

function cannotListenOn(where: string, error: NodeJS.ErrnoException): Error {
  const why = error.code === "EADDRINUSE" ? "the port is taken" : String(error.code);
  return new CannotStart(`cannot listen on ${where}: ${why}`, "choose another with --port; 0 takes any free one", {
    cause: error,
  });
}
