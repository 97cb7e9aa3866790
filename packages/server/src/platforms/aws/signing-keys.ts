import { hash } from "node:crypto";
import {
  CreateSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
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
import { type AwsOptions, awsFailure, clientConfig } from "./clients.ts";

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

  /** Undefined when there is no such secret, or none was ever put into it. */
  async function read(): Promise<string | undefined> {
    const answer = await secrets
      .send(new GetSecretValueCommand({ SecretId: secretName }))
      .catch(unless("ResourceNotFoundException"));
    return answer?.SecretString;
  }

  /**
   * Several processes may be first at once. All put with the same token, so that the service takes the first and refuses
   * the others; what is answered is what is there afterwards.
   */
  async function make(): Promise<string> {
    const value = { SecretString: await makePrivatePem(), ClientRequestToken: tokenFor(secretName) };
    const put = await secrets
      .send(new PutSecretValueCommand({ SecretId: secretName, ...value }))
      .catch(unless("ResourceNotFoundException", "ResourceExistsException"));
    if (!put) {
      const create = new CreateSecretCommand({ Name: secretName, Description: "Signs Lazaret's callbacks", ...value });
      await secrets.send(create).catch(unless("ResourceExistsException"));
    }
    const kept = await read();
    if (kept === undefined) throw new Error(`cannot keep a new signing key in the secret ${secretName}`);
    return kept;
  }

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
        const pair = signingKeyPair((await read()) ?? (await make()));
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

/** The same in all processes: 64 hexadecimal digits. */
function tokenFor(secretName: string): string {
  return hash("sha256", `lazaret signing key ${secretName}`);
}

function unless(...names: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof Error && names.includes(error.name)) return undefined;
    throw error;
  };
}
