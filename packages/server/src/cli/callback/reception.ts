import {
  CallbackRefusedError,
  createCallbackVerifier,
  type RefusalReason,
  type VerifiedCallback,
} from "@lazaret/client";

/** A POST as it came. */
export interface IncomingCallback {
  body: Uint8Array;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Path and query. */
  path: string;
}

export type Reception =
  | { kind: "authentic"; callback: VerifiedCallback }
  | { kind: "refused"; reason: RefusalReason; message: string }
  /** The server does not sign: who sent it cannot be told. */
  | { kind: "unsigned" };

export interface ReceptionOptions {
  /** PEM of the keys as they are now; undefined when the server does not sign. */
  keys(): Promise<string | undefined>;
  /** Where jobs call back to, if it is not what the request itself says. */
  callbackUrl?: string | undefined;
  tenantId?: string | undefined;
  now?: () => number;
}

/** A signature that fits no key may be of a newer one; but not each makes us ask for it. */
const ASK_AGAIN_MS = 10_000;

export interface CallbackDesk {
  /** False when the server does not sign. */
  signed: boolean;
  receive(request: IncomingCallback): Promise<Reception>;
}

export async function reception(options: ReceptionOptions): Promise<CallbackDesk> {
  const { callbackUrl, tenantId, now = Date.now } = options;
  let publicKey = await options.keys();
  let askedAt = now();

  async function check(request: IncomingCallback): Promise<Reception> {
    if (publicKey === undefined) return { kind: "unsigned" };
    let refused: Reception = { kind: "unsigned" };
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
