import { randomBytes } from "node:crypto";
import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { QueueUnavailable } from "../../model/faults.ts";
import { type Sealer, sealer } from "../embedded/sealed.ts";
import { type AwsOptions, awsFailure, clientConfig } from "./clients.ts";
import { keptSecret } from "./secrets.ts";

export interface SealingKey {
  /** Asked for when the first job comes, and again after a failure. Throws `QueueUnavailable`. */
  sealer(): Promise<Sealer>;
  close(): void;
}

const KEY_BYTES = 32;

/** The key that closes what clients sent, in Secrets Manager: who may read the queue or the table has not got it by that. */
export function sealingKey({ secretName, ...options }: AwsOptions & { secretName: string }): SealingKey {
  const secrets = new SecretsManagerClient(clientConfig(options));
  let loading: Promise<Sealer> | undefined;

  async function load(): Promise<Sealer> {
    const text = await keptSecret(secrets, {
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
