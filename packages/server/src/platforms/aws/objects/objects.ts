import { GetObjectCommand, type ListObjectsV2CommandOutput, paginateListObjectsV2, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { findings } from "@lazaret/contract";
import type { ActionOutcome, ObjectActions } from "../../../deliver/object-actions.ts";
import type { ListedObject, ObjectLister } from "../../../fetch/object-lister.ts";
import type { ObjectReader } from "../../../fetch/object-reader.ts";
import { firstOf } from "../../../flow/time-limit.ts";
import { type S3Options, SILENCE_MS, s3Config } from "../clients.ts";
import { deleteObject, tagObject } from "./act-on-object.ts";
import { namedObject, problemWithBucket, problemWithNames } from "./object-identity.ts";
import { openObject } from "./open-object.ts";
import { badAnswer, notThere, s3Failure, s3SourceFailed } from "./s3-failure.ts";

export interface S3ObjectsOptions extends S3Options {
  /** Between two pieces of a body, while somebody waits for one. */
  idleTimeoutMs?: number;
}

export interface S3Objects extends ObjectReader, ObjectActions, ObjectLister {
  /** Drops every connection. Whatever is under way fails. */
  close(): Promise<void>;
}

const LINK = "make a link to the object";
const LIST = "list the bucket";

/** Objects on S3, or on whatever speaks as S3 does. Credentials come by the SDK's usual chain, when first needed. */
export async function s3Objects(options: S3ObjectsOptions): Promise<S3Objects> {
  const { idleTimeoutMs = SILENCE_MS } = options;
  const client = new S3Client(await s3Config(options, S3Client));
  const closing = new AbortController();

  return {
    problemWith: problemWithNames,
    open: (object, signal) => openObject(client, object, { idleTimeoutMs, ends: [signal, closing.signal] }),
    async link(object, forSeconds) {
      const problem = problemWithNames(object);
      if (problem !== undefined) throw new Error(`cannot ${LINK}: ${problem}`);
      const command = new GetObjectCommand(namedObject(object));
      return getSignedUrl(client, command, { expiresIn: forSeconds }).catch(failedTo(LINK));
    },
    list: (bucket, range = {}) => listObjects(client, bucket, { ...range, signal: closing.signal }),
    async tag(object, tag, signal = closing.signal) {
      using end = firstOf([signal, closing.signal]);
      return await tagObject(client, object, { tag, signal: end.signal }).catch(
        unlessGone("changed", "tag the object", end.signal),
      );
    },
    async delete(object, signal = closing.signal) {
      using end = firstOf([signal, closing.signal]);
      return await deleteObject(client, object, end.signal).catch(unlessGone("done", "delete the object", end.signal));
    },
    async close() {
      closing.abort(new Error("the object store is closed"));
      client.destroy();
    },
  };
}

function unlessGone(outcome: ActionOutcome, attempt: string, signal: AbortSignal): (error: unknown) => ActionOutcome {
  return (error) => {
    if (signal.aborted) throw signal.reason;
    if (s3Failure(error, attempt)?.finding === findings.objectNotFound) return outcome;
    return failedTo(attempt)(error);
  };
}

/** The SDK's error is not kept as a cause: it holds the request with its signature. */
function failedTo(attempt: string): (error: unknown) => never {
  return (error) => {
    const failure = s3Failure(error, attempt);
    throw failure ? new Error(`${failure.message} (${failure.code})`) : error;
  };
}

async function* listObjects(
  client: S3Client,
  bucket: string,
  options: { prefix?: string; after?: string; signal: AbortSignal },
): AsyncGenerator<ListedObject> {
  const { prefix = "", after = "", signal } = options;
  const problem = problemWithBucket(bucket);
  if (problem !== undefined) throw notThere(LIST, { code: "invalid_name", words: problem });
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
      if (!leadsOn(page, token)) throw badAnswer(LIST);
      token = page.NextContinuationToken;
      const asKey = page.EncodingType === "url" ? decoded : (key: string): string => key;
      for (const { Key = "", Size = 0, LastModified } of page.Contents ?? []) {
        yield { bucket, key: asKey(Key), sizeBytes: Size, modifiedAt: LastModified?.getTime() ?? 0 };
      }
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : s3SourceFailed(error, LIST);
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
    throw badAnswer(LIST);
  }
}
