import type { RawCallback } from "../callback/raw-request.ts";
import { CALLBACK_MAX_BYTES, type CallbackVerifier } from "../callback/verifier.ts";
import { type CallbackHandler, type ReceiverOptions, receive, TEXT } from "./receive.ts";

export interface FastifyReceiverOptions extends ReceiverOptions {
  /** Where the callbacks arrive. */
  path: string;
}

/** As much of a Fastify instance as is used. */
interface FastifyInstanceLike {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    options: { parseAs: "buffer"; bodyLimit: number },
    parser: (request: unknown, body: Uint8Array, done: (error: null, body: Uint8Array) => void) => void,
  ): unknown;
  post(path: string, handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>): unknown;
}

interface FastifyRequestLike {
  body: unknown;
  headers: RawCallback["headers"];
  url: string;
}

interface FastifyReplyLike {
  code(status: number): FastifyReplyLike;
  type(contentType: string): FastifyReplyLike;
  send(payload?: string): FastifyReplyLike;
}

/** A plugin with one route. Its bodies stay bytes; those of all other routes are parsed as ever. */
export function fastifyReceiver(
  verifier: CallbackVerifier,
  handler: CallbackHandler,
  options: FastifyReceiverOptions,
): (instance: FastifyInstanceLike) => Promise<void> {
  return async (instance) => {
    instance.removeAllContentTypeParsers();
    const bodyLimit = options.maxBytes ?? CALLBACK_MAX_BYTES;
    instance.addContentTypeParser("*", { parseAs: "buffer", bodyLimit }, (_, body, done) => done(null, body));
    instance.post(options.path, async ({ body, headers, url }, reply) => {
      const verification = () => verifier.verifyRaw({ body: body as RawCallback["body"], headers, url });
      const { status, text } = await receive(verification, handler, options);
      return text === "" ? reply.code(status).send() : reply.code(status).type(TEXT).send(text);
    });
  };
}
