import { type ListObjectsV2CommandOutput, paginateListObjectsV2, type S3Client } from "@aws-sdk/client-s3";
import type { ListedObject } from "../../../fetch/object-lister.ts";
import { problemWithBucket } from "./object-identity.ts";
import { badAnswer, notThere, s3SourceFailed } from "./s3-failure.ts";

const ATTEMPT = "list the bucket";

export async function* listObjects(
  client: S3Client,
  bucket: string,
  options: { prefix?: string; after?: string; signal: AbortSignal },
): AsyncGenerator<ListedObject> {
  const { prefix = "", after = "", signal } = options;
  const problem = problemWithBucket(bucket);
  if (problem !== undefined) throw notThere(ATTEMPT, { code: "invalid_name", words: problem });
  const asked = {
    Bucket: bucket,
    // XML cannot write most control characters; keys can have them.
    EncodingType: "url" as const,
    ...(prefix === "" ? {} : { Prefix: prefix }),
    ...(after === "" ? {} : { StartAfter: after }),
  };
  let token: string | undefined;
  try {
    for await (const page of paginateListObjectsV2({ client }, asked, { abortSignal: signal })) {
      if (!leadsOn(page, token)) throw badAnswer(ATTEMPT);
      token = page.NextContinuationToken;
      const asKey = page.EncodingType === "url" ? decoded : (key: string): string => key;
      for (const { Key = "", Size = 0, LastModified } of page.Contents ?? []) {
        yield { bucket, key: asKey(Key), sizeBytes: Size, modifiedAt: LastModified?.getTime() ?? 0 };
      }
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : s3SourceFailed(error, ATTEMPT);
  }
}

/** A page says whether it is the last, and if not, how to get the next. An answer without a body would seem to be an empty bucket. */
function leadsOn(page: ListObjectsV2CommandOutput, lastToken: string | undefined): boolean {
  const { IsTruncated: more, NextContinuationToken: token } = page;
  return more === false || (more === true && token !== undefined && token !== lastToken);
}

/** S3 writes a space as a plus sign, and a plus sign as %2B. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    throw badAnswer(ATTEMPT);
  }
}
