import { sign } from "node:crypto";
import { createCallbackVerifier } from "@lazaret/client";
import { signatureVectorKeys } from "@lazaret/contract/signature-vectors";

/** The URL that the test's jobs were submitted with; receivers really listen elsewhere, as behind a proxy. */
const callbackUrl = "https://app.example.com/scanned";

/** Knows the key that everybody knows. */
export const verifier = createCallbackVerifier({ publicKey: signatureVectorKeys.publicPemX509, callbackUrl });

export const cleanBody: string = JSON.stringify({
  status: "clean",
  size: 10,
  download_time: "0.004",
  scan_time: "0.002",
  download_url: "https://files.example.com/report.pdf",
  trace_id: "order-4711",
  custom_data: "Grüße 😀",
});

/** Headers as Lazaret sends them with this body, now. */
export function signedHeaders(body: string): Record<string, string> {
  const timestamp = String(Date.now());
  const signed = Buffer.from(`${timestamp}.${callbackUrl}.${body}`);
  return {
    "Content-Type": "application/json",
    "X-Timestamp": timestamp,
    "X-Signature": sign("sha256", signed, signatureVectorKeys.testOnlyPrivatePem).toString("hex"),
    "X-Delivery-Id": "job-1",
    "X-Delivery-Attempt": "1",
  };
}
