import { GetObjectCommand } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { findings } from "@lazaret/contract";
import type { ActionOutcome, ObjectActions } from "../../../deliver/object-actions.ts";
import type { ObjectLister } from "../../../fetch/object-lister.ts";
import type { ObjectReader } from "../../../fetch/object-reader.ts";
import { type S3Options, SILENCE_MS, s3Client } from "../clients.ts";
import { deleteObject, tagObject } from "./act-on-object.ts";
import { listObjects } from "./list-objects.ts";
import { namedObject, problemWithNames } from "./object-identity.ts";
import { openObject } from "./open-object.ts";
import { s3Failure } from "./s3-failure.ts";

export interface S3ObjectsOptions extends S3Options {
  /** Between two pieces of a body, while somebody waits for one. */
  idleTimeoutMs?: number;
}

export interface S3Objects extends ObjectReader, ObjectActions, ObjectLister {
  /** Drops every connection. Whatever is under way fails. */
  close(): Promise<void>;
}

const LINK = "make a link to the object";

/** Objects on S3, or on whatever speaks as S3 does. Credentials come by the SDK's usual chain, when first needed. */
export async function s3Objects(options: S3ObjectsOptions): Promise<S3Objects> {
  const { idleTimeoutMs = SILENCE_MS } = options;
  const client = await s3Client(options);
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
    tag: (object, tag) =>
      tagObject(client, object, { tag, signal: closing.signal }).catch(unlessGone("changed", "tag the object")),
    delete: (object) => deleteObject(client, object, closing.signal).catch(unlessGone("done", "delete the object")),
    async close() {
      closing.abort(new Error("the object store is closed"));
      client.destroy();
    },
  };
}

function unlessGone(outcome: ActionOutcome, attempt: string): (error: unknown) => ActionOutcome {
  return (error) => {
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
