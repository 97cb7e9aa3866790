import { createHash, createPublicKey, verify } from "node:crypto";
import type { CallbackPayload } from "@lazaret/contract";
import type { AdminCallback, AdminJob } from "@lazaret/contract/admin";
import { callbackPayload } from "../deliver/render.ts";
import { type SignCallback, signedBytes } from "../deliver/signature.ts";
import type { PublicKeys } from "../deliver/signing-keys.ts";
import { newJob } from "../model/job.ts";
import type { JobCard } from "../model/job-card.ts";

export interface CallbackViewOptions {
  /** Cuts the payload down to what the installation's version knows. */
  shape(payload: CallbackPayload): CallbackPayload;
  /** Undefined where callbacks are not signed. */
  signing: { sign: SignCallback; publicKeys(): PublicKeys | undefined } | undefined;
}

/** What is posted for a job; undefined while there is no report, or where nobody is to be called back. */
export type CallbackView = (job: AdminJob, card: JobCard) => Promise<AdminCallback | undefined>;

/**
 * The body by the renderer that callbacks are made with, signed with the key they are signed with, as of the time when the job came: who
 * looks must not come by a signature that a receiver takes for one of now. What people may not see of a job is not in its card, so that
 * the body differs from what was sent in what `not_kept` names.
 */
export function callbackView({ shape, signing }: CallbackViewOptions): CallbackView {
  return async ({ id, submitted_at }, card) => {
    const { report, callback } = card;
    if (!report || !callback) return undefined;
    const { traceId } = card;
    const submission = {
      source: card.source.kind === "url" ? { ...card.source, headers: {} } : card.source,
      tenant: card.tenant ?? "",
      key: card.key ?? "",
      ...(traceId !== undefined && { traceId }),
    };
    const job = newJob(submission, { id, submittedAt: submitted_at });
    const payload = JSON.stringify(shape(callbackPayload(job, report)));
    const { tenantId } = callback;
    const signature = await signatureOf({ payload, url: callback.url, tenantId, at: submitted_at });
    return { url: callback.url, payload, not_kept: notKept(card), ...(signature && { signature }) };
  };

  async function signatureOf(signed: {
    payload: string;
    url: string;
    tenantId: string | undefined;
    at: number;
  }): Promise<AdminCallback["signature"] | undefined> {
    const { payload, url, tenantId, at } = signed;
    const keys = signing?.publicKeys();
    if (!signing || !keys) return undefined;
    const timestamp = String(at);
    const parts = { timestamp, url, body: Buffer.from(payload), ...(tenantId !== undefined && { tenantId }) };
    const value = await signing.sign(parts);
    return {
      parts: [
        { name: "timestamp", value: timestamp },
        ...(tenantId === undefined ? [] : [{ name: "tenant" as const, value: tenantId }]),
        { name: "url", value: url },
        { name: "body", value: payload },
      ],
      value,
      fingerprint: fingerprintOf(keys.x509),
      verifies: verify("sha256", signedBytes(parts), createPublicKey(keys.x509), Buffer.from(value, "hex")),
    };
  }
}

function notKept({ customDataLength, source, callback }: JobCard): string[] {
  return [
    ...(customDataLength === undefined ? [] : ["custom_data"]),
    ...(source.kind === "url" && source.url.endsWith("?…") ? ["the query of download_url"] : []),
    ...(source.kind === "object" ? ["download_url"] : []),
    ...(callback?.url.endsWith("?…") ? ["the query of callback_url"] : []),
  ];
}

/** SHA-256 of the public key as DER (SPKI), in hex. */
export function fingerprintOf(pem: string): string {
  return createHash("sha256")
    .update(createPublicKey(pem).export({ type: "spki", format: "der" }))
    .digest("hex");
}
