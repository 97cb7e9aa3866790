import { createHash, createHmac } from "node:crypto";
import { Refusal } from "./refusal.ts";
import type { S3Request } from "./s3-request.ts";

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

/** What a request claims, from its Authorization header or from the query of a presigned link. */
interface Claim {
  credential: string;
  signedHeaders: string;
  signature: string;
  /** `20260101T000000Z` */
  date: string;
  payloadHash: string;
}

/** How far the clocks of both sides may be apart, and the longest life of a link: S3's own numbers. */
const SKEW_SECONDS = 15 * 60;
const LINK_MAX_SECONDS = 7 * 24 * 3600;

/** Verifies Signature Version 4 as S3 does, written from its description and not from the SDK that signs. */
export function checkSignature(request: S3Request, credentials: S3Credentials, now: number): void {
  const link = request.query.has("X-Amz-Signature");
  const claim = link ? claimOfLink(request) : claimOfHeader(request);
  const [accessKeyId, day = "", region = "", service = "", end] = claim.credential.split("/");
  if (accessKeyId !== credentials.accessKeyId) throw new Refusal(403, "InvalidAccessKeyId");
  if (service !== "s3" || end !== "aws4_request") throw new Refusal(400, "AuthorizationHeaderMalformed");

  const scope = `${day}/${region}/${service}/aws4_request`;
  const hash = createHash("sha256").update(canonicalRequest(request, claim)).digest("hex");
  const key = [day, region, service, "aws4_request"].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${credentials.secretAccessKey}`,
  );
  const signature = hmac(key, `AWS4-HMAC-SHA256\n${claim.date}\n${scope}\n${hash}`).toString("hex");
  if (signature !== claim.signature) throw new Refusal(403, "SignatureDoesNotMatch");

  const ageSeconds = (now - timeOf(claim.date)) / 1000;
  if (!link && Math.abs(ageSeconds) > SKEW_SECONDS) throw new Refusal(403, "RequestTimeTooSkewed");
  if (link && (ageSeconds < -SKEW_SECONDS || ageSeconds > lifeOfLink(request))) throw new Refusal(403, "AccessDenied");
}

function claimOfHeader({ headers }: S3Request): Claim {
  const { authorization = "" } = headers;
  if (authorization === "") throw new Refusal(403, "AccessDenied");
  const parts = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
    authorization,
  );
  const [, credential = "", signedHeaders = "", signature = ""] = parts ?? [];
  const date = String(headers["x-amz-date"] ?? "");
  const payloadHash = String(headers["x-amz-content-sha256"] ?? "");
  if (!parts || date === "" || payloadHash === "") throw new Refusal(400, "AuthorizationHeaderMalformed");
  return { credential, signedHeaders, signature, date, payloadHash };
}

function claimOfLink({ query }: S3Request): Claim {
  const value = (name: string): string => query.get(`X-Amz-${name}`) ?? "";
  if (value("Algorithm") !== "AWS4-HMAC-SHA256") throw new Refusal(400, "AuthorizationQueryParametersError");
  return {
    credential: value("Credential"),
    signedHeaders: value("SignedHeaders"),
    signature: value("Signature"),
    date: value("Date"),
    payloadHash: "UNSIGNED-PAYLOAD",
  };
}

function lifeOfLink({ query }: S3Request): number {
  const seconds = Number(query.get("X-Amz-Expires"));
  if (!(seconds >= 1 && seconds <= LINK_MAX_SECONDS)) throw new Refusal(400, "AuthorizationQueryParametersError");
  return seconds;
}

function canonicalRequest({ method, rawPath, query, headers }: S3Request, claim: Claim): string {
  const path = rawPath.split("/").map((segment) => encoded(decodeURIComponent(segment)));
  const parameters = [...query]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort();
  const signed = claim.signedHeaders.split(";").map((name) => `${name}:${String(headers[name] ?? "").trim()}\n`);
  return [method, path.join("/"), parameters.join("&"), signed.join(""), claim.signedHeaders, claim.payloadHash].join(
    "\n",
  );
}

/** All but RFC 3986's unreserved characters, as the signature wants them. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function timeOf(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}
