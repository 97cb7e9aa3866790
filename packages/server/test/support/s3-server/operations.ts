import type { Bucket, StoredObject } from "./bucket.ts";
import { listObjects } from "./list-objects.ts";
import { Refusal } from "./refusal.ts";
import type { S3Request } from "./s3-request.ts";
import { textsOf, xml } from "./xml.ts";

export interface S3Answer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer | string;
}

/** What is told apart of S3's implementations: some delete whatever the condition says, some refuse to hear of one. */
export type ConditionalDelete = "honoured" | "ignored" | "refused";

interface OperationOptions {
  conditionalDelete: ConditionalDelete;
}

type Operation = (request: S3Request, bucket: Bucket, options: OperationOptions) => S3Answer;

/** S3 allows no more. */
const MAX_TAGS = 10;

export const operations: Readonly<Record<string, Operation>> = {
  CreateBucket: () => ({ status: 200 }),
  PutBucketVersioning: ({ body }, bucket) => {
    bucket.versioning = textsOf(body.toString(), "Status")[0] === "Enabled" ? "enabled" : "suspended";
    return { status: 200 };
  },
  PutObject: ({ key, body, headers }, bucket) => {
    if (headers["x-amz-content-sha256"]?.includes("STREAMING")) throw new Refusal(501, "NotImplemented");
    const tags = new URLSearchParams(String(headers["x-amz-tagging"] ?? ""));
    const stored = bucket.put(key, body, new Map(tags));
    return { status: 200, headers: { etag: stored.etag, ...versionHeader(bucket, stored.id) } };
  },
  GetObject: (request, bucket) => {
    const found = bucket.find(request.key, request.query.get("versionId"));
    return { status: 200, headers: objectHeaders(bucket, found), body: found.bytes };
  },
  HeadObject: (request, bucket) => {
    const found = bucket.find(request.key, request.query.get("versionId"));
    return { status: 200, headers: objectHeaders(bucket, found) };
  },
  DeleteObject: (request, bucket, options) => {
    const version = request.query.get("versionId");
    const condition = request.headers["if-match"];
    if (condition !== undefined && options.conditionalDelete !== "ignored") {
      // S3 itself knows no conditions on a version.
      if (options.conditionalDelete === "refused" || version !== undefined) throw new Refusal(501, "NotImplemented");
      if (bucket.find(request.key, undefined).etag !== condition) throw new Refusal(412, "PreconditionFailed");
    }
    const marker = bucket.remove(request.key, version);
    const marked = marker && { "x-amz-delete-marker": "true", ...versionHeader(bucket, marker.id) };
    return { status: 204, headers: marked ?? {} };
  },
  GetObjectTagging: (request, bucket) => {
    const found = bucket.find(request.key, request.query.get("versionId"));
    const tags = [...found.tags].map(
      ([key, value]) => ["Tag", [["Key", key] as const, ["Value", value] as const]] as const,
    );
    const body = xml("Tagging", [["TagSet", tags]]);
    return { status: 200, headers: versionHeader(bucket, found.id), body };
  },
  PutObjectTagging: (request, bucket) => {
    const found = bucket.find(request.key, request.query.get("versionId"));
    const document = request.body.toString();
    const values = textsOf(document, "Value");
    const tags = new Map(textsOf(document, "Key").map((key, index) => [key, values[index] ?? ""]));
    if (tags.size > MAX_TAGS) throw new Refusal(400, "BadRequest");
    found.tags = tags;
    return { status: 200, headers: versionHeader(bucket, found.id) };
  },
  ListObjectsV2: listObjects,
};

function objectHeaders(bucket: Bucket, object: StoredObject): Record<string, string> {
  return {
    etag: object.etag,
    "last-modified": new Date(object.modifiedAt).toUTCString(),
    "content-length": String(object.bytes.length),
    "content-type": "application/octet-stream",
    "accept-ranges": "bytes",
    ...versionHeader(bucket, object.id),
  };
}

/** A bucket that never had versions does not speak of them. */
function versionHeader(bucket: Bucket, id: string): Record<string, string> {
  return bucket.versioning === "never" ? {} : { "x-amz-version-id": id };
}
