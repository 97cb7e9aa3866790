import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/** What came over the wire, with the path taken apart by hand: `URL` would resolve the dots in a key. */
export interface S3Request {
  method: string;
  /** The path as it was sent, still encoded. */
  rawPath: string;
  query: ReadonlyMap<string, string>;
  headers: IncomingHttpHeaders;
  bucket: string;
  key: string;
  operation: string;
  body: Buffer;
}

export async function readRequest(message: IncomingMessage): Promise<S3Request> {
  const { method = "", url = "", headers } = message;
  const [rawPath = "", rawQuery = ""] = splitOnce(url, "?");
  const query = new Map(rawQuery.split("&").filter(Boolean).map(readParameter));
  const [bucket = "", key = ""] = splitOnce(rawPath.slice(1), "/").map(decodeURIComponent);
  const body = Buffer.concat(await message.toArray());
  return { method, rawPath, query, headers, bucket, key, operation: operationOf(method, key, query), body };
}

function operationOf(method: string, key: string, query: ReadonlyMap<string, string>): string {
  if (key !== "" && query.has("tagging")) return { GET: "GetObjectTagging", PUT: "PutObjectTagging" }[method] ?? "";
  if (key !== "")
    return { GET: "GetObject", HEAD: "HeadObject", PUT: "PutObject", DELETE: "DeleteObject" }[method] ?? "";
  if (method === "PUT") return query.has("versioning") ? "PutBucketVersioning" : "CreateBucket";
  return query.get("list-type") === "2" ? "ListObjectsV2" : "";
}

function readParameter(pair: string): [string, string] {
  const [name = "", value = ""] = splitOnce(pair, "=").map((part) => decodeURIComponent(part.replaceAll("+", " ")));
  return [name, value];
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
