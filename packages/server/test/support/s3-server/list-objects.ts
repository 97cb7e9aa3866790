import type { Bucket } from "./bucket.ts";
import { Refusal } from "./refusal.ts";
import type { S3Request } from "./s3-request.ts";
import { xml } from "./xml.ts";

const PAGE_KEYS = 1000;

/** ListObjectsV2. The token of a page is the last key before it, made unreadable. */
export function listObjects({ bucket: name, query }: S3Request, bucket: Bucket): { status: number; body: string } {
  const prefix = query.get("prefix") ?? "";
  const token = query.get("continuation-token");
  const after = token === undefined ? query.get("start-after") : Buffer.from(token, "base64url").toString();
  const maxKeys = Math.min(Number(query.get("max-keys") ?? PAGE_KEYS), PAGE_KEYS);
  const asUrl = query.get("encoding-type") === "url";

  const all = bucket.newest().filter(([key]) => key.startsWith(prefix) && (after === undefined || isAfter(key, after)));
  const page = all.slice(0, maxKeys);
  const last = page.at(-1)?.[0];
  const next =
    all.length > page.length && last !== undefined
      ? ([["NextContinuationToken", Buffer.from(last).toString("base64url")]] as const)
      : [];
  const contents = page.map(
    ([key, { bytes, etag, modifiedAt }]) =>
      [
        "Contents",
        [
          ["Key", asUrl ? urlEncoded(key) : plain(key)],
          ["LastModified", new Date(modifiedAt).toISOString()],
          ["ETag", etag],
          ["Size", bytes.length],
          ["StorageClass", "STANDARD"],
        ],
      ] as const,
  );
  const body = xml("ListBucketResult", [
    ["Name", name],
    ["Prefix", asUrl ? urlEncoded(prefix) : prefix],
    ["KeyCount", page.length],
    ["MaxKeys", maxKeys],
    ["IsTruncated", next.length > 0],
    ...(asUrl ? ([["EncodingType", "url"]] as const) : []),
    ...next,
    ...contents,
  ]);
  return { status: 200, body };
}

function isAfter(key: string, other: string): boolean {
  return Buffer.compare(Buffer.from(key), Buffer.from(other)) > 0;
}

/** As S3 does it: spaces become plus signs, slashes stay. */
function urlEncoded(key: string): string {
  return encodeURIComponent(key).replaceAll("%20", "+").replaceAll("%2F", "/");
}

/** XML has no way to write most control characters; S3's document is then not well formed, and this is a test. */
function plain(key: string): string {
  if ([...key].some((each) => each < " ")) throw new Refusal(500, "InternalError");
  return key;
}
