import { joined } from "../http/read-bytes.ts";
import { callbackHeaderNames } from "../wire.ts";
import type { KeyRing } from "./key-ring.ts";
import { CallbackRefusedError } from "./refused.ts";

/** What a signature is over, and what is said to be one. */
export interface SignedCallback {
  signature: string | undefined;
  timestamp: string | undefined;
  /** As it was submitted, not as a parser would write it. */
  callbackUrl: string;
  body: Uint8Array;
}

export interface SignatureRules {
  keys: KeyRing;
  /** Of the dialect that signs it too. */
  tenantId: string | undefined;
  toleranceMs: number;
  now: () => number;
}

/** Resolves for an authentic callback; throws CallbackRefusedError with the reason otherwise. */
export async function checkSignature(callback: SignedCallback, rules: SignatureRules): Promise<void> {
  const { signature, timestamp, callbackUrl, body } = callback;
  if (signature === undefined || timestamp === undefined) {
    const missing = signature === undefined ? callbackHeaderNames.signature : callbackHeaderNames.timestamp;
    throw new CallbackRefusedError(
      "missing_header",
      `the request has no ${missing} header: it is no callback, or the server does not sign (LAZARET_SIGN_CALLBACK_INVOCATIONS=true)`,
    );
  }
  checkTimestamp(timestamp, rules);
  const tenant = rules.tenantId === undefined ? "" : `${rules.tenantId}.`;
  const prefix = new TextEncoder().encode(`${timestamp}.${tenant}${callbackUrl}.`);
  const bytes = fromHex(signature);
  if (!bytes) throw new CallbackRefusedError("bad_signature", "the X-Signature header is no hex number");
  if (await rules.keys.fits(bytes, joined([prefix, body]))) return;
  throw new CallbackRefusedError(
    "bad_signature",
    `the signature does not fit: the body was changed, the key is not this server's, or the job was not submitted with exactly this callback_url: ${callbackUrl}`,
  );
}

function checkTimestamp(timestamp: string, { toleranceMs, now }: SignatureRules): void {
  if (!/^\d{1,15}$/.test(timestamp)) {
    throw new CallbackRefusedError("bad_timestamp", "the X-Timestamp header is no time in milliseconds");
  }
  const offMs = now() - Number(timestamp);
  if (Math.abs(offMs) <= toleranceMs) return;
  const off = `${Math.round(Math.abs(offMs) / 1000)} s ${offMs > 0 ? "behind" : "ahead of"} this clock`;
  throw new CallbackRefusedError(
    "old_timestamp",
    `the X-Timestamp header is ${off}: the request is a repetition, or one of the two clocks is wrong`,
  );
}

function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return undefined;
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => Number.parseInt(text.slice(at * 2, at * 2 + 2), 16));
}
