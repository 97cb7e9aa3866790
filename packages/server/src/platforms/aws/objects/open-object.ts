import { Readable } from "node:stream";
import { GetObjectCommand, type GetObjectCommandOutput, type S3Client } from "@aws-sdk/client-s3";
import { findings } from "@lazaret/contract";
import type { OpenedObject } from "../../../fetch/object-reader.ts";
import { type ObjectRef, SourceFailed } from "../../../model/source.ts";
import { objectBytes } from "./object-bytes.ts";
import { namedObject, problemWithNames } from "./object-identity.ts";
import { markOf } from "./object-mark.ts";
import { notThere, s3SourceFailed } from "./s3-failure.ts";

const ATTEMPT = "read the object";

export async function openObject(
  client: S3Client,
  object: ObjectRef,
  options: { idleTimeoutMs: number; signal: AbortSignal },
): Promise<OpenedObject> {
  const { idleTimeoutMs, signal } = options;
  signal.throwIfAborted();
  const problem = problemWithNames(object);
  if (problem !== undefined) throw notThere(ATTEMPT, { code: "invalid_name", words: problem });

  const answer = await client
    .send(new GetObjectCommand(namedObject(object)), { abortSignal: signal })
    .catch((error: unknown) => {
      throw signal.aborted ? signal.reason : refused(error, object);
    });
  const { Body: body, ContentLength: announcedBytes, VersionId: toldVersion } = answer;
  if (!(body instanceof Readable)) throw new Error("cannot read the object: the SDK gave no stream");
  const problemWithAnswer = unexpected(answer, object);
  if (problemWithAnswer) {
    body.on("error", () => {}).destroy();
    throw problemWithAnswer;
  }
  const version = toldVersion ?? object.version;
  return {
    bytes: objectBytes(body, { announcedBytes, idleTimeoutMs }, signal),
    ...(announcedBytes === undefined ? {} : { announcedBytes }),
    object: {
      bucket: object.bucket,
      key: object.key,
      ...(version === undefined ? {} : { version }),
      mark: markOf(answer),
    },
  };
}

/** An answer that is not the whole of what was asked for. A server without versions may have overlooked that one was named. */
function unexpected(answer: GetObjectCommandOutput, { version }: ObjectRef): SourceFailed | undefined {
  const statusCode = answer.$metadata.httpStatusCode;
  if (statusCode !== undefined && statusCode !== 200) {
    const message = `cannot ${ATTEMPT}: the store answered ${statusCode}`;
    return new SourceFailed({
      finding: findings.downloadFailed,
      code: `HTTP_${statusCode}`,
      message,
      statusCode,
      passing: false,
    });
  }
  if (version === undefined || (answer.VersionId ?? "null") === version) return undefined;
  return notThere(ATTEMPT, { code: "wrong_version", words: "the store answered with another version" });
}

/** S3 calls a version that cannot be one of its own an invalid argument. */
function refused(error: unknown, { version }: ObjectRef): unknown {
  const malformed = version !== undefined && error instanceof Error && error.name === "InvalidArgument";
  if (malformed) return notThere(ATTEMPT, { code: error.name, words: "there is no such version" });
  return s3SourceFailed(error, ATTEMPT);
}
