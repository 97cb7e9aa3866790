import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";

export interface AwsClientOptions {
  /** By the SDK's usual chain, if not told. */
  region?: string;
  /** Where the services are, if not at AWS itself or where the SDK's own AWS_ENDPOINT_URL says. */
  endpoints?: { sqs?: string; dynamodb?: string };
  /** From the request to its answer, for each try. */
  requestTimeoutMs?: number;
}

export interface AwsClients {
  sqs: SQSClient;
  dynamodb: DynamoDBClient;
}

const CONNECT_TIMEOUT_MS = 3_000;
/** Well above the longest poll. */
const REQUEST_TIMEOUT_MS = 5_000;
/** A client of ours waits for the answer; whoever calls tries again later anyway. */
const MAX_ATTEMPTS = 3;

/** Credentials come by the SDK's usual chain, when first needed. */
export function awsClients({
  region,
  endpoints = {},
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
}: AwsClientOptions): AwsClients {
  const settings = () => ({
    ...(region !== undefined && { region }),
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true, maxSockets: 256 },
      httpsAgent: { keepAlive: true, maxSockets: 256 },
    },
  });
  return {
    // The address of a queue is also its name; which host is asked is decided by region and endpoint alone.
    sqs: new SQSClient({
      ...settings(),
      ...(endpoints.sqs !== undefined && { endpoint: endpoints.sqs }),
      useQueueUrlAsEndpoint: false,
    }),
    dynamodb: new DynamoDBClient({
      ...settings(),
      ...(endpoints.dynamodb !== undefined && { endpoint: endpoints.dynamodb }),
    }),
  };
}
