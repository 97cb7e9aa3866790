import {
  CallbackRefusedError,
  createCallbackVerifier,
  type RefusalReason,
  type VerifiedCallback,
} from "@lazaret/client";
import { variations } from "./variations.ts";

/** A callback as somebody has kept it. */
export interface Evidence {
  body: Uint8Array;
  signature: string | undefined;
  timestamp: string | undefined;
  callbackUrl: string;
  tenantId?: string | undefined;
}

export type Judgement =
  | { kind: "authentic"; callback: VerifiedCallback }
  | { kind: "refused"; reason: RefusalReason; message: string; explanation: string | undefined };

export interface JudgeOptions {
  /** PEM, one or several. */
  publicKey: string;
  toleranceMs: number;
  now: () => number;
}

/** Whether it is authentic; if not, why, and with which change it would be. Throws a TypeError for keys that are none. */
export async function judge(evidence: Evidence, options: JudgeOptions): Promise<Judgement> {
  try {
    return { kind: "authentic", callback: await verify(evidence, options) };
  } catch (error) {
    if (!(error instanceof CallbackRefusedError)) throw error;
    const { reason, message } = error;
    return { kind: "refused", reason, message, explanation: await explain(evidence, reason, options) };
  }
}

async function explain(evidence: Evidence, reason: RefusalReason, options: JudgeOptions): Promise<string | undefined> {
  if (reason !== "bad_signature" && reason !== "old_timestamp") return undefined;
  const anyTime = { ...options, toleranceMs: Number.POSITIVE_INFINITY };
  if (reason === "old_timestamp") {
    if (/^\d{10}$/.test(evidence.timestamp ?? "")) return "X-Timestamp is in milliseconds; this looks like seconds";
    if (await fits(evidence, anyTime)) return "the signature itself fits; --tolerance allows more time";
  }
  for (const { what, changed } of variations(evidence)) {
    if (await fits(changed, anyTime)) return `the signature fits ${what}`;
  }
  return undefined;
}

/** A body that is signed and yet no result has a signature that fits. */
async function fits(evidence: Evidence, options: JudgeOptions): Promise<boolean> {
  try {
    await verify(evidence, options);
    return true;
  } catch (error) {
    if (!(error instanceof CallbackRefusedError)) throw error;
    return error.reason === "malformed_body";
  }
}

function verify(evidence: Evidence, { publicKey, toleranceMs, now }: JudgeOptions): Promise<VerifiedCallback> {
  const { body, signature, timestamp, callbackUrl, tenantId } = evidence;
  const headers = { "X-Signature": signature, "X-Timestamp": timestamp };
  return createCallbackVerifier({ publicKey, callbackUrl, tenantId, toleranceMs, now }).verifyRaw({ body, headers });
}
