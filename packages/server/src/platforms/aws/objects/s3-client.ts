import { S3Client } from "@aws-sdk/client-s3";
import { SYNC_TIMEOUT_SECONDS } from "@lazaret/contract";

export interface S3Options {
  /** Any server that speaks S3. AWS itself, if not told. */
  endpoint?: string;
  /** By the SDK's usual chain, if not told; other servers than AWS mostly do not care. */
  region?: string;
  /** The bucket in the path and not in the host's name. Other servers than AWS mostly need it. */
  forcePathStyle?: boolean;
  /** From the request to the last of the answer's headers, for each try. */
  headersTimeoutMs?: number;
}

/** What servers that know no regions take for theirs. */
const ANY_REGION = "us-east-1";

const CONNECT_TIMEOUT_MS = 10_000;
/** Longer than a synchronous request may take, whose own time ends it. */
export const SILENCE_MS: number = (SYNC_TIMEOUT_SECONDS + 5) * 1000;
/** The queue tries again later; within one run the SDK only bridges a short trouble. */
const MAX_ATTEMPTS = 3;

/** Throws when it cannot be known which region to sign for. */
export async function s3Client(options: S3Options): Promise<S3Client> {
  const { endpoint, forcePathStyle = false, headersTimeoutMs = SILENCE_MS } = options;
  // How many files are read at once is decided elsewhere. A limit here would let tags wait for bodies that wait for the engine.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
  return new S3Client({
    region: options.region ?? (await usualRegion(endpoint)),
    ...(endpoint === undefined ? {} : { endpoint }),
    forcePathStyle,
    maxAttempts: MAX_ATTEMPTS,
    // Checksums beyond those that S3 demands are unknown to other servers, and make of a body one that is not theirs.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    // A session for each bucket of S3 Express: more requests for a kind of bucket whose objects cannot be tagged.
    disableS3ExpressSessionAuth: true,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: headersTimeoutMs,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
}

async function usualRegion(endpoint: string | undefined): Promise<string> {
  const chain = new S3Client({});
  try {
    return await chain.config.region();
  } catch (cause) {
    if (endpoint !== undefined) return ANY_REGION;
    throw new Error("cannot use S3: no region is set, neither AWS_REGION nor one in the profile", { cause });
  } finally {
    chain.destroy();
  }
}
