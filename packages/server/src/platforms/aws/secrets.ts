import { hash, randomBytes } from "node:crypto";
import {
  CreateSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { QueueUnavailable } from "../../model/faults.ts";
import { type Sealer, sealer } from "../shared/sealed.ts";
import { AwsUnavailable, awsFailure, awsUnavailable } from "./aws-unavailable.ts";
import { type AwsOptions, accountConfig } from "./clients.ts";

export interface SealingKey {
  /** Asked for when the first job comes, and again after a failure. Throws `QueueUnavailable`. */
  sealer(): Promise<Sealer>;
  close(): void;
}

const KEY_BYTES = 32;

/** The key that closes what clients sent, in Secrets Manager: who may read the queue or the table has not got it by that. */
export function sealingKey({ secretName, ...options }: AwsOptions & { secretName: string }): SealingKey {
  const secrets = new SecretsManagerClient(accountConfig(options));
  let loading: Promise<Sealer> | undefined;

  async function load(): Promise<Sealer> {
    const text = await secretMadeOnce(secrets, {
      name: secretName,
      description: "Seals what Lazaret's clients sent, in queue and table",
      purpose: "sealing key",
      make: async () => randomBytes(KEY_BYTES).toString("hex"),
    });
    if (!/^[0-9a-f]{64}$/i.test(text)) throw new Error("it holds no key of 64 hexadecimal digits");
    return sealer(Buffer.from(text, "hex"));
  }

  return {
    sealer() {
      loading ??= load().catch((error) => {
        loading = undefined;
        throw new QueueUnavailable(awsFailure(`load the sealing key from the secret ${secretName}`, error).message);
      });
      return loading;
    },
    close: () => secrets.destroy(),
  };
}

export interface ApiKeysSecret {
  /** The keys as they are now, comma-separated as in the setting. */
  read(): Promise<string>;
  close(): void;
}

/** The accepted bearer secrets in Secrets Manager. */
export function apiKeysSecret({ secretName, ...options }: AwsOptions & { secretName: string }): ApiKeysSecret {
  const client = new SecretsManagerClient(accountConfig(options));
  return {
    async read() {
      try {
        const { SecretString = "" } = await client.send(new GetSecretValueCommand({ SecretId: secretName }));
        return SecretString;
      } catch (error) {
        const attempt = `read the API keys from the secret ${secretName}`;
        const failure = awsUnavailable(error, attempt);
        throw failure instanceof AwsUnavailable && failure.passes ? failure : awsFailure(attempt, error);
      }
    },
    close: () => client.destroy(),
  };
}

interface SecretToMake {
  /** Name or ARN. */
  name: string;
  description: string;
  /** Names the first value to Secrets Manager, so that there is one only. */
  purpose: string;
  /** Makes the value when there is none. */
  make(): Promise<string>;
}

/**
 * A secret that is made once per installation and is the same for all its processes. Several may be first at once: all put with
 * the same token, so that the service takes the first and refuses the others; what is answered is what is there afterwards.
 */
export async function secretMadeOnce(secrets: SecretsManagerClient, options: SecretToMake): Promise<string> {
  const { name, description, purpose, make } = options;

  /** Undefined when there is no such secret, or none was ever put into it. */
  async function read(): Promise<string | undefined> {
    const answer = await secrets
      .send(new GetSecretValueCommand({ SecretId: name }))
      .catch(unless("ResourceNotFoundException"));
    return answer?.SecretString;
  }

  const there = await read();
  if (there !== undefined) return there;
  // The token is the same in all processes: 64 hexadecimal digits.
  const value = { SecretString: await make(), ClientRequestToken: hash("sha256", `lazaret ${purpose} ${name}`) };
  const put = await secrets
    .send(new PutSecretValueCommand({ SecretId: name, ...value }))
    .catch(unless("ResourceNotFoundException", "ResourceExistsException"));
  if (!put) {
    const create = new CreateSecretCommand({ Name: name, Description: description, ...value });
    await secrets.send(create).catch(unless("ResourceExistsException"));
  }
  const kept = await read();
  if (kept === undefined) throw new Error(`cannot keep a new ${purpose} in the secret ${name}`);
  return kept;
}

/** Errors of these names are answers. */
export function unless(...names: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof Error && names.includes(error.name)) return undefined;
    throw error;
  };
}
