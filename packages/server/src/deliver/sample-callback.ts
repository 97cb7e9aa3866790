import { randomUUID } from "node:crypto";
import { type CallbackPayload, findings, callbackHeaderNames as names } from "@lazaret/contract";
import type { SignCallback } from "./signature.ts";

export interface SampleOptions {
  status: CallbackPayload["status"];
  /** callback_url: where it will be sent, which the signature is over. */
  url: string;
  traceId: string;
  customData?: string;
  /** As for jobs that were submitted under /v1. */
  tenantId?: string;
  /** Where callbacks are signed. */
  sign?: SignCallback;
  now: number;
  /** Sent as `lazaret/<version>`. */
  version: string;
}

/** A callback as a job would send it, about a file that does not exist. */
export async function sampleCallback(
  options: SampleOptions,
): Promise<{ headers: Record<string, string>; body: string }> {
  const { status, url, traceId, customData, tenantId, now, version } = options;
  const payload: CallbackPayload = {
    status,
    ...sampleFindings[status],
    size: 68,
    download_time: "0.214",
    scan_time: "0.030",
    download_url: "https://files.example.com/sample.txt",
    trace_id: traceId,
    ...(customData !== undefined && { custom_data: customData }),
  };
  const body = JSON.stringify(payload);
  const timestamp = String(now);
  const parts = { timestamp, url, body: Buffer.from(body), ...(tenantId !== undefined && { tenantId }) };
  return {
    body,
    headers: {
      "Content-Type": "application/json",
      "User-Agent": `lazaret/${version}`,
      [names.deliveryId]: randomUUID(),
      [names.deliveryAttempt]: "1",
      ...(options.sign && {
        [names.timestamp]: timestamp,
        [names.signature]: await options.sign(parts),
      }),
    },
  };
}

const sampleFindings = {
  clean: {},
  infected: { finding: "EICAR_Test_File" },
  no: { finding: findings.downloadFailed },
} as const;
