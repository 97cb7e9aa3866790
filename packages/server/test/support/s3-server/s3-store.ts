import { type S3Objects, type S3ObjectsOptions, s3Objects } from "../../../src/platforms/aws/objects/objects.ts";
import { type S3Server, type S3ServerOptions, s3Server } from "./s3-server.ts";

export interface S3Store extends AsyncDisposable {
  server: S3Server;
  store: S3Objects;
  signal: AbortSignal;
}

/** The adapter before a server of its own, both gone at the end. */
export async function s3Store(
  options: S3ServerOptions = {},
  adapterOptions: Omit<S3ObjectsOptions, "endpoint" | "forcePathStyle"> = {},
): Promise<S3Store> {
  const server = await s3Server(options);
  useCredentials(server.credentials);
  const store = await s3Objects({ endpoint: server.endpoint, forcePathStyle: true, ...adapterOptions });
  return {
    server,
    store,
    signal: new AbortController().signal,
    async [Symbol.asyncDispose]() {
      await store.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** What the SDK's chain finds in this process from now on: these, or none, and nothing of whoever runs the tests. */
export function useCredentials(credentials?: { accessKeyId: string; secretAccessKey: string }): void {
  for (const name of Object.keys(process.env).filter((each) => each.startsWith("AWS_"))) delete process.env[name];
  Object.assign(process.env, {
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_CONFIG_FILE: "/nonexistent",
    AWS_SHARED_CREDENTIALS_FILE: "/nonexistent",
  });
  if (!credentials) return;
  process.env.AWS_ACCESS_KEY_ID = credentials.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = credentials.secretAccessKey;
}
