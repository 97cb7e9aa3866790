import type { IncomingMessage, ServerResponse } from "node:http";
import { httpServer } from "../loopback-server.ts";
import { type Bucket, bucket, type Versioning } from "./bucket.ts";
import { answerWith, type Fault, faultPlan, type PlannedFault } from "./faults.ts";
import { type ConditionalDelete, operations, type S3Answer } from "./operations.ts";
import { Refusal } from "./refusal.ts";
import { readRequest, type S3Request } from "./s3-request.ts";
import { checkSignature, type S3Credentials } from "./signature.ts";
import { xml } from "./xml.ts";

/** S3's protocol on loopback, over memory: what the SDK sends is really parsed, and its signatures really verified. */
export interface S3Server extends AsyncDisposable {
  endpoint: string;
  region: string;
  credentials: S3Credentials;
  /** Makes a bucket, or finds it. */
  bucket(name: string, versioning?: Versioning): Bucket;
  fail(fault: Fault, on?: Omit<PlannedFault, "fault">): void;
  /** From now on everything is as it should be. */
  recover(): void;
  /** All requests so far, by the names of their operations and as they were sent. */
  readonly requests: readonly SeenRequest[];
  /** Requests that are neither answered to their end nor given up by the other side. */
  readonly underWay: number;
  /** Bytes of bodies that the other side has taken. */
  readonly sentBytes: number;
}

interface SeenRequest {
  operation: string;
  method: string;
  rawPath: string;
  query: ReadonlyMap<string, string>;
}

export interface S3ServerOptions {
  now?: () => number;
  conditionalDelete?: ConditionalDelete;
}

const region = "eu-central-1";
const credentials: S3Credentials = { accessKeyId: "AKIDOFTHETESTS", secretAccessKey: "secret-of-the-tests" };
/** Bodies go out in pieces of this size, so that one can see how much was taken. */
const PIECE_BYTES = 64 * 1024;

export async function s3Server(options: S3ServerOptions = {}): Promise<S3Server> {
  const { now = Date.now, conditionalDelete = "honoured" } = options;
  const buckets = new Map<string, Bucket>();
  const faults = faultPlan();
  const requests: SeenRequest[] = [];
  const open = new Set<ServerResponse>();
  let sentBytes = 0;

  function answerTo(request: S3Request): S3Answer {
    const operation = operations[request.operation];
    if (!operation) throw new Refusal(501, "NotImplemented");
    if (request.operation === "CreateBucket") make(request.bucket);
    const found = buckets.get(request.bucket);
    if (!found) throw new Refusal(404, "NoSuchBucket");
    return operation(request, found, { conditionalDelete });
  }

  function make(name: string): Bucket {
    const made = buckets.get(name) ?? bucket(now);
    buckets.set(name, made);
    return made;
  }

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(message);
    requests.push(request);
    const whole = (answer: S3Answer): void => void send(response, answer);
    try {
      const fault = faults.next(request.operation);
      checkSignature(request, credentials, now());
      if (fault) answerWith(fault, () => answerTo(request), { response, whole });
      else whole(answerTo(request));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // The answer to a HEAD has no body, so that only the status tells what is wrong.
      const body =
        request.method === "HEAD"
          ? ""
          : xml("Error", [
              ["Code", error.code],
              ["Message", "as planned"],
            ]);
      whole({ status: error.status, headers: { "content-type": "application/xml", ...error.headers }, body });
    }
  }

  async function send(response: ServerResponse, { status, headers, body = "" }: S3Answer): Promise<void> {
    const bytes = Buffer.from(body);
    const length = headers?.["transfer-encoding"] ? {} : { "content-length": String(bytes.length) };
    response.writeHead(status, { ...length, "x-amz-request-id": "TEST", ...headers });
    for (let at = 0; at < bytes.length && !response.destroyed; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      await new Promise<void>((resolve) => {
        response.once("close", resolve);
        response.write(piece, () => {
          response.off("close", resolve);
          resolve();
        });
      });
      sentBytes += piece.length;
    }
    response.end();
  }

  const server = await httpServer((message, response) => {
    open.add(response);
    response.once("close", () => open.delete(response));
    // A client that goes away while it still sends is its own business.
    serve(message, response).catch(() => response.destroy());
  });

  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    region,
    credentials,
    bucket(name, versioning) {
      const made = make(name);
      if (versioning) made.versioning = versioning;
      return made;
    },
    fail: (fault, on = {}) => faults.add({ fault, ...on }),
    recover: () => faults.clear(),
    requests,
    get underWay() {
      return open.size;
    },
    get sentBytes() {
      return sentBytes;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
