import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { GetParameterCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import {
  makePrivatePem,
  publicKeyParameters,
  readPublicKeys,
  type SigningKeyPair,
  type SigningKeys,
  signingKeyPair,
} from "../../deliver/signing-keys.ts";
import { QueueUnavailable } from "../../model/faults.ts";
import { awsFailure } from "./aws-unavailable.ts";
import { type AwsOptions, accountConfig } from "./clients.ts";
import { secretMadeOnce, unless } from "./secrets.ts";

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
  const secrets = new SecretsManagerClient(accountConfig(options));
  const parameters = new SSMClient(accountConfig(options));
  let published: string | undefined;

  async function parameterOf(name: string): Promise<string | undefined> {
    const known = await parameters.send(new GetParameterCommand({ Name: name })).catch(unless("ParameterNotFound"));
    return known?.Parameter?.Value;
  }

  async function publish(pair: SigningKeyPair): Promise<void> {
    if (published === pair.publicKeys.x509) return;
    for (const { name, value } of publicKeyParameters(stackName, pair.publicKeys)) {
      if ((await parameterOf(name)) === value) continue;
      await parameters.send(new PutParameterCommand({ Name: name, Value: value, Type: "String", Overwrite: true }));
    }
    published = pair.publicKeys.x509;
  }

  return {
    async load() {
      try {
        const pair = signingKeyPair(
          await secretMadeOnce(secrets, {
            name: secretName,
            description: "Signs Lazaret's callbacks",
            purpose: "signing key",
            make: () => makePrivatePem(),
          }),
        );
        await publish(pair);
        return pair;
      } catch (error) {
        throw awsFailure(`load the signing key from the secret ${secretName}`, error);
      }
    },
    async published() {
      try {
        return await readPublicKeys(stackName, parameterOf);
      } catch (error) {
        throw new QueueUnavailable(awsFailure("read the public keys from the parameter store", error).message);
      }
    },
    close() {
      secrets.destroy();
      parameters.destroy();
    },
  };
}
