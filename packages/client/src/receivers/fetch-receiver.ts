import type { CallbackVerifier } from "../callback/verifier.ts";
import { type CallbackHandler, type ReceiverOptions, receive, TEXT } from "./receive.ts";

/** For everything that answers a Request with a Response: Next.js route handlers, Deno, Bun, Hono, edge runtimes. */
export function fetchReceiver(
  verifier: CallbackVerifier,
  handler: CallbackHandler,
  options: ReceiverOptions = {},
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { maxBytes } = options;
    const { status, text } = await receive(() => verifier.verify(request, { maxBytes }), handler, options);
    return text === ""
      ? new Response(null, { status })
      : new Response(text, { status, headers: { "Content-Type": TEXT } });
  };
}
