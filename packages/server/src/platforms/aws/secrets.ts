import { hash } from "node:crypto";
import {
  CreateSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  type SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";

export interface KeptSecretOptions {
  /** Name or ARN. */
  name: string;
  description: string;
  /** Told to Secrets Manager with the first value, so that there is one only. */
  purpose: string;
  /** Makes the value when there is none. */
  make(): Promise<string>;
}

/**
 * A secret that is made once per installation and is the same for all its processes. Several may be first at once: all put with
 * the same token, so that the service takes the first and refuses the others; what is answered is what is there afterwards.
 */
export async function keptSecret(secrets: SecretsManagerClient, options: KeptSecretOptions): Promise<string> {
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
