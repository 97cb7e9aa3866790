import { readBytes, TooManyBytes } from "../http/read-bytes.ts";
import { callbackHeaderNames, SIGNATURE_WINDOW_SECONDS } from "../wire.ts";
import { keyRing } from "./key-ring.ts";
import { type CallbackResult, parsePayload } from "./payload.ts";
import { pemBlocks } from "./public-key.ts";
import { bytesOfBody, type CallbackRequest, headerIn, parsedBody, type RawCallback } from "./raw-request.ts";
import { CallbackRefusedError } from "./refused.ts";
import { checkSignature } from "./signature.ts";

export interface CallbackVerifierOptions {
  /** PEM, PKCS1 or X509; several blocks are several keys. */
  publicKey?: string | undefined;
  /** Several such texts: while a key is exchanged for another, both are good. */
  publicKeys?: readonly string[] | undefined;
  /** Where the server shows its key: `/.well-known/lazaret/callback-key.pem`. Fetched when first needed, and kept. */
  keyUrl?: string | URL | undefined;
  /** The callback_url exactly as the job was submitted with it, or a function that answers it for a request. */
  callbackUrl: string | ((request: CallbackRequest) => string | Promise<string>);
  /** How far X-Timestamp may be from now, either way. Five minutes when not given. */
  toleranceMs?: number | undefined;
  /** For jobs that were submitted under `/v1`: their signatures are over the tenant's id too. */
  tenantId?: string | undefined;
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined;
  /** For keyUrl. */
  fetch?: typeof fetch | undefined;
}

/** A callback that Lazaret has sent. */
export interface VerifiedCallback {
  result: CallbackResult;
  /** The same in all tries of a job: one that you have seen is a repetition. Like the next, no part of what is signed. */
  deliveryId: string | undefined;
  /** From 1, over all tries of a job. */
  attempt: number | undefined;
  sentAt: Date;
}

/** Both throw CallbackRefusedError for what is not authentic, and other errors when that cannot be found out. */
export interface CallbackVerifier {
  verify(request: Request, options?: { maxBytes?: number | undefined }): Promise<VerifiedCallback>;
  verifyRaw(callback: RawCallback): Promise<VerifiedCallback>;
}

/** custom_data has at most 16 KB, URLs 2,048 characters: no callback comes near this. */
export const CALLBACK_MAX_BYTES: number = 1024 * 1024;

export function createCallbackVerifier(options: CallbackVerifierOptions): CallbackVerifier {
  const { callbackUrl, tenantId, toleranceMs = SIGNATURE_WINDOW_SECONDS * 1000, now = Date.now } = options;
  const given = [...(options.publicKey === undefined ? [] : [options.publicKey]), ...(options.publicKeys ?? [])];
  const keyUrl = options.keyUrl === undefined ? undefined : String(options.keyUrl);
  if (given.length === 0 && keyUrl === undefined) {
    throw new TypeError("no key was given: pass publicKey, publicKeys or keyUrl");
  }
  if (!callbackUrl) throw new TypeError("no callbackUrl was given: the signature is over it");
  const keys = keyRing({
    given: given.flatMap(pemBlocks),
    keyUrl,
    now,
    fetch: options.fetch ?? ((...args) => fetch(...args)),
  });

  async function verifyRaw({ body, headers, url = "" }: RawCallback): Promise<VerifiedCallback> {
    const header = (name: string): string | undefined => headerIn(headers, name);
    const bytes = bytesOfBody(body);
    const timestamp = header(callbackHeaderNames.timestamp);
    const signed = {
      signature: header(callbackHeaderNames.signature),
      timestamp,
      callbackUrl: typeof callbackUrl === "string" ? callbackUrl : await callbackUrl({ url, header }),
      body: bytes,
    };
    await checkSignature(signed, { keys, tenantId, toleranceMs, now });
    const attempt = header(callbackHeaderNames.deliveryAttempt);
    return {
      result: parsePayload(bytes),
      deliveryId: header(callbackHeaderNames.deliveryId),
      attempt: attempt !== undefined && /^\d+$/.test(attempt) ? Number(attempt) : undefined,
      sentAt: new Date(Number(timestamp)),
    };
  }

  return {
    verifyRaw,
    async verify(request, { maxBytes = CALLBACK_MAX_BYTES } = {}) {
      if (request.bodyUsed) throw parsedBody("the request's body was read before");
      const body = await readBytes(request.body, maxBytes).catch((error: unknown) => {
        throw error instanceof TooManyBytes
          ? new CallbackRefusedError("too_big", `the body has ${error.message}`)
          : error;
      });
      return verifyRaw({ body, headers: request.headers, url: request.url });
    },
  };
}
