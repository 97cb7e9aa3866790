import type { S3Client } from "@aws-sdk/client-s3";
import { SYNC_TIMEOUT_SECONDS } from "@lazaret/contract";

/** Where a service is. Credentials come by the SDK's usual chain, when first needed. */
export interface AwsOptions {
  /** Such as a stand-in's. AWS itself if not given, or where the SDK's own AWS_ENDPOINT_URL says. */
  endpoint?: string | undefined;
  /** By the SDK's usual chain if not given. */
  region?: string | undefined;
}

/** How long a client of the SDK waits, and how often it tries. */
interface Patience {
  connectTimeoutMs: number;
  /** From the request to the last of the answer's headers, for each try. */
  requestTimeoutMs: number;
  maxAttempts: number;
  /** The SDK's own number if not given. */
  maxSockets?: number;
}

interface ClientConfig {
  endpoint?: string;
  region?: string;
  maxAttempts: number;
  requestHandler: object;
}

/** Topic, bus, keys and secrets: the SDK waits between its tries; longer trouble is for whoever called to bridge. */
const ACCOUNT: Patience = { connectTimeoutMs: 5_000, requestTimeoutMs: 15_000, maxAttempts: 4 };

/**
 * Queue and table: a client of ours waits for the answer, and whoever calls tries again later anyway. The time is well above
 * the longest poll.
 */
const JOBS: Patience = { connectTimeoutMs: 3_000, requestTimeoutMs: 5_000, maxAttempts: 3, maxSockets: 256 };

/** Longer than a synchronous request may take, whose own time ends it. */
export const SILENCE_MS: number = (SYNC_TIMEOUT_SECONDS + 5) * 1000;

/**
 * Objects: the queue tries again later; within one run the SDK only bridges a short trouble. How many files are read at once
 * is decided elsewhere: a limit of sockets would let tags wait for bodies that wait for the engine.
 */
const OBJECTS: Patience = {
  connectTimeoutMs: 10_000,
  requestTimeoutMs: SILENCE_MS,
  maxAttempts: 3,
  maxSockets: Number.POSITIVE_INFINITY,
};

/** For SNS, EventBridge, Secrets Manager and SSM. */
export function accountConfig(options: AwsOptions): ClientConfig {
  return configOf(options, ACCOUNT);
}

export interface JobClientOptions extends AwsOptions {
  requestTimeoutMs?: number | undefined;
}

/** For DynamoDB. */
export function tableConfig({ requestTimeoutMs = JOBS.requestTimeoutMs, ...options }: JobClientOptions): ClientConfig {
  return configOf(options, { ...JOBS, requestTimeoutMs });
}

/** For SQS. The address of a queue is also its name; which host is asked is decided by region and endpoint alone. */
export function queueConfig(options: JobClientOptions): ClientConfig & { useQueueUrlAsEndpoint: boolean } {
  return { ...tableConfig(options), useQueueUrlAsEndpoint: false };
}

/** Here the endpoint may be any server that speaks S3; others than AWS mostly do not care about the region. */
export interface S3Options extends AwsOptions {
  /** The bucket in the path and not in the host's name. Other servers than AWS mostly need it. */
  forcePathStyle?: boolean;
  /** From the request to the last of the answer's headers, for each try. */
  headersTimeoutMs?: number;
}

/** Throws when it cannot be known which region to sign for. */
export async function s3Client(options: S3Options): Promise<S3Client> {
  const { endpoint, forcePathStyle = false, headersTimeoutMs = SILENCE_MS } = options;
  // Loaded here, so that who needs another service does not load this one.
  const { S3Client } = await import("@aws-sdk/client-s3");
  const region = options.region ?? (await usualRegion(new S3Client({}), endpoint));
  return new S3Client({
    ...configOf({ endpoint, region }, { ...OBJECTS, requestTimeoutMs: headersTimeoutMs }),
    forcePathStyle,
    // Checksums beyond those that S3 demands are unknown to other servers, and make of a body one that is not theirs.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    // A session for each bucket of S3 Express: more requests for a kind of bucket whose objects cannot be tagged.
    disableS3ExpressSessionAuth: true,
  });
}

/** What servers that know no regions take for theirs. */
const ANY_REGION = "us-east-1";

async function usualRegion(chain: S3Client, endpoint: string | undefined): Promise<string> {
  try {
    return await chain.config.region();
  } catch (cause) {
    if (endpoint !== undefined) return ANY_REGION;
    throw new Error("cannot use S3: no region is set, neither AWS_REGION nor one in the profile", { cause });
  } finally {
    chain.destroy();
  }
}

function configOf({ endpoint, region }: AwsOptions, patience: Patience): ClientConfig {
  const { connectTimeoutMs, requestTimeoutMs, maxAttempts, maxSockets } = patience;
  const agent = maxSockets === undefined ? undefined : { keepAlive: true, maxSockets };
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    maxAttempts,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      ...(agent && { httpAgent: agent, httpsAgent: agent }),
    },
  };
}
