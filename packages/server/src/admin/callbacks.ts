import { createPublicKey } from "node:crypto";
import { CALLBACK_TIMEOUT_SECONDS, type ObjectSchema, URL_MAX_CHARACTERS } from "@lazaret/contract";
import type { AdminCallbackKeys, AdminCallbackTest } from "@lazaret/contract/admin";
import { sampleCallback } from "../deliver/sample-callback.ts";
import type { SignCallback } from "../deliver/signature.ts";
import type { PublicKeys } from "../deliver/signing-keys.ts";
import { timeLimit } from "../flow/time-limit.ts";
import { withoutQuery } from "../model/source.ts";
import type { ConnectorFactory } from "../net/exchange.ts";
import { failureCode, failureWords } from "../net/failures.ts";
import { keptConnections } from "../net/kept-connections.ts";
import { checkBody, readJsonObject } from "../receive/body/json-body.ts";
import { checkCallbackUrl, type ReplyRules } from "../receive/body/submission.ts";
import type { ApiRequest } from "../receive/request-answer.ts";
import type { ConsoleCaller } from "../receive/route.ts";
import { fingerprintOf } from "./callback-view.ts";

export interface CallbackParts {
  /** Undefined where callbacks are not signed. */
  signing: { sign: SignCallback; publicKeys(): PublicKeys | undefined } | undefined;
  rules: ReplyRules;
  connector: ConnectorFactory;
  version: string;
  now(): number;
}

const testSchema: ObjectSchema = {
  type: "object",
  required: ["url"],
  properties: {
    url: { type: "string", description: "Where callbacks go.", minLength: 1, maxLength: URL_MAX_CHARACTERS },
  },
};

export function callbackKeys({ signing }: Pick<CallbackParts, "signing">): AdminCallbackKeys {
  const keys = signing?.publicKeys();
  if (!keys) return { signed: signing !== undefined, keys: [] };
  const { x509, pkcs1 } = keys;
  const bits = createPublicKey(x509).asymmetricKeyDetails?.modulusLength ?? 0;
  const fingerprint = fingerprintOf(x509);
  return { signed: true, keys: [{ fingerprint, bits, spki_pem: x509, pkcs1_pem: pkcs1, current: true }] };
}

/** One POST as a job would send it, with the same checks of its address, the same signature and the same time. */
export async function testCallback(
  parts: CallbackParts,
  request: ApiRequest,
  caller: ConsoleCaller,
): Promise<AdminCallbackTest> {
  const { url } = checkBody<{ url: string }>(await readJsonObject(request), testSchema);
  checkCallbackUrl(url, parts.rules);
  await caller.record(withoutQuery(url));
  const { headers, body } = await sampleCallback({
    status: "clean",
    url,
    traceId: "callback-test",
    now: parts.now(),
    version: parts.version,
    ...(parts.signing && { sign: parts.signing.sign }),
  });
  const all = { ...headers, Accept: "*/*", "Content-Length": String(Buffer.byteLength(body)) };
  const sent = { payload: body, header_names: Object.keys(all) };
  const connections = keptConnections(parts.connector);
  const began = performance.now();
  const ms = (): number => Math.round(performance.now() - began);
  using limit = timeLimit(CALLBACK_TIMEOUT_SECONDS * 1000, request.signal);
  try {
    const post = { headers: Object.entries(all).flat(), body: Buffer.from(body), mayReuse: false };
    const { statusCode, received } = await connections.post(new URL(url), post, limit.signal);
    if (received) return { delivered: true, status: statusCode, ms: ms(), ...sent };
    const message = `the receiver answered ${statusCode}`;
    return { delivered: false, status: statusCode, code: `HTTP_${statusCode}`, message, ms: ms(), ...sent };
  } catch (error) {
    const code = failureCode(error) ?? "EUNKNOWN";
    return { delivered: false, code, message: failureWords(code, "post") ?? code, ms: ms(), ...sent };
  } finally {
    await connections.close();
  }
}
