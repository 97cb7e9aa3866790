import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { GetParameterCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import {
  makePrivatePem,
  publicKeyParameters,
  type SigningKeyPair,
  type SigningKeys,
  signingKeyPair,
} from "../../deliver/signing-keys.ts";
import { type AwsOptions, awsFailure, clientConfig } from "./clients.ts";
import { keptSecret, unless } from "./kept-secret.ts";

export interface SecretKeysOptions extends AwsOptions {
  /** Name or ARN of the secret that holds the private key as PEM. */
  secretName: string;
  stackName: string;
}

export interface SecretKeys extends SigningKeys {
  close(): void;
}

/** The private key in Secrets Manager, the public ones as SSM parameters under the names of the spec. */
export function secretKeys({ secretName, stackName, ...options }: SecretKeysOptions): SecretKeys {
  const secrets = new SecretsManagerClient(clientConfig(options));
  const parameters = new SSMClient(clientConfig(options));
  let published: string | undefined;

  async function publish(pair: SigningKeyPair): Promise<void> {
    if (published === pair.publicKeys.x509) return;
    for (const { name, value } of publicKeyParameters(stackName, pair.publicKeys)) {
      const known = await parameters.send(new GetParameterCommand({ Name: name })).catch(unless("ParameterNotFound"));
      if (known?.Parameter?.Value === value) continue;
      await parameters.send(new PutParameterCommand({ Name: name, Value: value, Type: "String", Overwrite: true }));
    }
    published = pair.publicKeys.x509;
  }

  return {
    async load() {
      try {
        const pair = signingKeyPair(
          await keptSecret(secrets, {
            name: secretName,
            description: "Signs Lazaret's callbacks",
            purpose: "signing key",
            make: makePrivatePem,
          }),
        );
        await publish(pair);
        return pair;
      } catch (error) {
        throw awsFailure(`load the signing key from the secret ${secretName}`, error);
      }
    },
    close() {
      secrets.destroy();
      parameters.destroy();
    },
  };
}
