import {
  CallbackRefusedError,
  createCallbackVerifier,
  type RefusalReason,
  type VerifiedCallback,
} from "@lazaret/client";

/** A callback as somebody has kept it. */
export interface KeptCallback {
  body: Uint8Array;
  signature: string | undefined;
  timestamp: string | undefined;
  callbackUrl: string;
  tenantId?: string | undefined;
}

export type Diagnosis =
  | { kind: "authentic"; callback: VerifiedCallback }
  | { kind: "refused"; reason: RefusalReason; message: string; explanation: string | undefined };

export interface DiagnoseOptions {
  /** PEM, one or several. */
  publicKey: string;
  toleranceMs: number;
  now: () => number;
}

/** Whether it is authentic; if not, why, and with which change it would be. Throws a TypeError for keys that are none. */
export async function diagnose(kept: KeptCallback, options: DiagnoseOptions): Promise<Diagnosis> {
  try {
    return { kind: "authentic", callback: await verify(kept, options) };
  } catch (error) {
    if (!(error instanceof CallbackRefusedError)) throw error;
    const { reason, message } = error;
    return { kind: "refused", reason, message, explanation: await explain(kept, reason, options) };
  }
}

async function explain(
  kept: KeptCallback,
  reason: RefusalReason,
  options: DiagnoseOptions,
): Promise<string | undefined> {
  if (reason !== "bad_signature" && reason !== "old_timestamp") return undefined;
  const anyTime = { ...options, toleranceMs: Number.POSITIVE_INFINITY };
  if (reason === "old_timestamp") {
    if (/^\d{10}$/.test(kept.timestamp ?? "")) return "X-Timestamp is in milliseconds; this looks like seconds";
    if (await fits(kept, anyTime)) return "the signature itself fits; --tolerance allows more time";
  }
  for (const { what, changed } of variations(kept)) {
    if (await fits(changed, anyTime)) return `the signature fits ${what}`;
  }
  return undefined;
}

/** A body that is signed and yet no result has a signature that fits. */
async function fits(kept: KeptCallback, options: DiagnoseOptions): Promise<boolean> {
  try {
    await verify(kept, options);
    return true;
  } catch (error) {
    if (!(error instanceof CallbackRefusedError)) throw error;
    return error.reason === "malformed_body";
  }
}

function verify(kept: KeptCallback, { publicKey, toleranceMs, now }: DiagnoseOptions): Promise<VerifiedCallback> {
  const { body, signature, timestamp, callbackUrl, tenantId } = kept;
  const headers = { "X-Signature": signature, "X-Timestamp": timestamp };
  return createCallbackVerifier({ publicKey, callbackUrl, tenantId, toleranceMs, now }).verifyRaw({ body, headers });
}

/** The same callback without one of the mistakes that are easily made. */
interface Variation {
  /** Goes on after "the signature fits". */
  what: string;
  changed: KeptCallback;
}

interface Change<T> {
  what: string;
  value: T;
}

/** One mistake, or one in the body together with one in the URL. */
function* variations(kept: KeptCallback): Generator<Variation> {
  const bodies = changes(kept.body, bodyChanges(kept.body), sameBytes);
  const urls = changes(kept.callbackUrl, urlChanges(kept.callbackUrl), (one, other) => one === other);
  const signature = hexOf(kept.signature ?? "");
  if (signature !== undefined) {
    yield { what: "once it is written as hex; it came as base64", changed: { ...kept, signature } };
  }
  for (const { what, value } of bodies) yield { what, changed: { ...kept, body: value } };
  for (const { what, value } of urls) yield { what, changed: { ...kept, callbackUrl: value } };
  for (const body of bodies) {
    for (const url of urls) {
      const what = `${body.what}, and ${url.what}`;
      yield { what, changed: { ...kept, body: body.value, callbackUrl: url.value } };
    }
  }
}

function changes<T>(original: T, all: readonly Change<T>[], same: (one: T, other: T) => boolean): Change<T>[] {
  return all.filter(({ value }) => !same(value, original));
}

function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

function bodyChanges(body: Uint8Array): Change<Uint8Array>[] {
  const text = Buffer.from(body).toString("utf8");
  const compact = writtenAgain(text);
  return [
    { what: "without the line break at the end of the body", value: Buffer.from(text.replace(/\r?\n$/, "")) },
    { what: "without the byte order mark before the body", value: Buffer.from(text.replace(/^\ufeff/, "")) },
    ...(compact === undefined
      ? []
      : [
          {
            what: "with the JSON as Lazaret writes it: the body was parsed and written again",
            value: Buffer.from(compact),
          },
        ]),
  ];
}

function writtenAgain(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function urlChanges(url: string): Change<string>[] {
  const values = [
    url.endsWith("/") ? url.replace(/\/+$/, "") : `${url}/`,
    url.replace(/^http:/i, "https:"),
    url.replace(/^https:/i, "http:"),
    url.replace(/#.*$/s, ""),
    url.replace(/[?#].*$/s, ""),
    URL.parse(url)?.href ?? url,
    (URL.parse(url)?.href ?? url).replace(/\/$/, ""),
    url.trim(),
  ];
  return [...new Set(values)].map((value) => ({ what: `with the callback_url ${value}`, value }));
}

/** Of a signature that is base64. */
function hexOf(signature: string): string | undefined {
  if (/^[0-9a-f]*$/i.test(signature) || !/^[\w+/-]+=*$/.test(signature)) return undefined;
  return Buffer.from(signature, "base64").toString("hex");
}
