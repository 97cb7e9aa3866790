import { Readable } from "node:stream";
import { GetObjectCommand, type GetObjectCommandOutput, type S3Client } from "@aws-sdk/client-s3";
import { findings } from "@lazaret/contract";
import type { OpenedObject } from "../../../fetch/object-reader.ts";
import { firstOf } from "../../../flow/time-limit.ts";
import { type ObjectRef, SourceFailed } from "../../../model/source.ts";
import { IncomingMessage } from "../../../net/node-http.ts";
import { markOf, namedObject, problemWithNames } from "./object-identity.ts";
import { bodyFailed, notThere, s3SourceFailed } from "./s3-failure.ts";

const ATTEMPT = "read the object";

export async function openObject(
  client: S3Client,
  object: ObjectRef,
  options: { idleTimeoutMs: number; ends: readonly AbortSignal[] },
): Promise<OpenedObject> {
  const { idleTimeoutMs, ends } = options;
  using follows = new DisposableStack();
  const { signal } = follows.use(firstOf(ends));
  signal.throwIfAborted();
  const problem = problemWithNames(object);
  if (problem !== undefined) throw notThere(ATTEMPT, { code: "invalid_name", words: problem });

  const answer = await client
    .send(new GetObjectCommand(namedObject(object)), { abortSignal: signal })
    .catch((error: unknown) => {
      throw signal.aborted ? signal.reason : refused(error, object);
    });
  const { Body: body, ContentLength: announcedBytes, VersionId: answeredVersion } = answer;
  if (!(body instanceof Readable)) throw new Error("cannot read the object: the SDK gave no stream");
  const problemWithAnswer = unexpected(answer, object);
  if (problemWithAnswer) {
    body.on("error", () => {}).destroy();
    throw problemWithAnswer;
  }
  const version = answeredVersion ?? object.version;
  return {
    bytes: objectBytes(body, { announcedBytes, idleTimeoutMs, follows: follows.move() }, signal),
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

interface BodyOptions {
  announcedBytes: number | undefined;
  /** Between two pieces of the body, while we are waiting for one. */
  idleTimeoutMs: number;
  /** What the signal follows, let go with the connection. */
  follows: DisposableStack;
}

/**
 * The body of an answer, only as fast as it is read. Throws `SourceFailed` where it breaks off, and `signal.reason` when
 * the signal aborts. The connection is held until all has been read, reading is stopped, or the signal aborts.
 */
function objectBytes(body: Readable, options: BodyOptions, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const { announcedBytes, idleTimeoutMs, follows } = options;
  // One that is let go before it is read reports that to nobody.
  body.on("error", () => {});
  signal.addEventListener("abort", () => follows.dispose(), { once: true });

  async function* read(): AsyncGenerator<Uint8Array> {
    const chunks = body[Symbol.asyncIterator]();
    let receivedBytes = 0;
    try {
      for (;;) {
        const next = await within(idleTimeoutMs, body, () => chunks.next());
        // Node may still hand out what it had received before the connection was closed.
        signal.throwIfAborted();
        if (next.done) break;
        receivedBytes += next.value.byteLength;
        yield next.value;
      }
      if (!isWhole(body, receivedBytes, announcedBytes)) throw bodyFailed("short_body");
    } catch (error) {
      throw signal.aborted ? signal.reason : explained(error);
    } finally {
      body.destroy();
      follows.dispose();
    }
  }

  const reading = read();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => reading.next(),
      // Closed first: a generator that waits for the next bytes would answer return() only after they came.
      async return() {
        body.destroy();
        follows.dispose();
        return reading.return(undefined);
      },
    }),
  };
}

/** Without a length only the chunks of HTTP show whether it is the end or a cut. */
function isWhole(body: Readable, receivedBytes: number, announcedBytes: number | undefined): boolean {
  if (announcedBytes !== undefined) return receivedBytes === announcedBytes;
  return body instanceof IncomingMessage && body.complete && body.headers["transfer-encoding"] === "chunked";
}

async function within<T>(limitMs: number, body: Readable, wait: () => Promise<T>): Promise<T> {
  const timer = setTimeout(() => body.destroy(bodyFailed("body_timeout")), limitMs);
  try {
    return await wait();
  } finally {
    clearTimeout(timer);
  }
}

/** Whatever breaks the connection in mid-body makes the body too short. */
function explained(error: unknown): unknown {
  return error instanceof Error && "code" in error ? bodyFailed("short_body") : error;
}
