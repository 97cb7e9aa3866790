import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { type AwsOptions, awsFailure, clientConfig } from "./clients.ts";

export interface ApiKeysSecret {
  /** The keys as they are now, comma-separated as in the setting. */
  read(): Promise<string>;
  close(): void;
}

/** The accepted bearer secrets in Secrets Manager. */
export function apiKeysSecret({ secretName, ...options }: AwsOptions & { secretName: string }): ApiKeysSecret {
  const client = new SecretsManagerClient(clientConfig(options));
  return {
    async read() {
      try {
        const { SecretString = "" } = await client.send(new GetSecretValueCommand({ SecretId: secretName }));
        return SecretString;
      } catch (error) {
        throw awsFailure(`read the API keys from the secret ${secretName}`, error);
      }
    },
    close: () => client.destroy(),
  };
}
