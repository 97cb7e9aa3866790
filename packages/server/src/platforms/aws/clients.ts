/** How every client of the AWS SDK is set up. Credentials come by the SDK's usual chain. */
export interface AwsOptions {
  /** All services at one address, such as a stand-in; AWS itself if not told. */
  endpoint?: string;
  region?: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** The SDK waits between its tries; longer trouble is for whoever called to bridge. */
const MAX_ATTEMPTS = 4;

export function clientConfig({ endpoint, region }: AwsOptions) {
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
    },
  };
}

/** What an error of the SDK may be told as: it holds requests with their signatures. */
export function awsFailure(attempt: string, error: unknown): Error {
  const { name, message } = error instanceof Error ? error : { name: "Error", message: String(error) };
  return new Error(`cannot ${attempt}: ${name}${message && message !== name ? `, ${message}` : ""}`);
}
