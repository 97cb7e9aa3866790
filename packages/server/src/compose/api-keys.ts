import type { Log } from "../log.ts";
import { type BearerAuth, bearerAuth } from "../receive/bearer-auth.ts";
import { type Settings, settingsTable } from "../settings.ts";
import { awsServices } from "./aws-settings.ts";
import { CannotStart } from "./cannot-start.ts";

export interface Keys extends Disposable {
  auth: BearerAuth;
  /** From now on these are the keys, or those in the secret as it is now. Answers how many; the old ones stay when it throws. */
  change(apiKeys: readonly string[]): Promise<number>;
}

/** A key that was added or taken away is known from then on at the latest. */
const LOOK_EVERY_MS = 60_000;

/** The accepted keys: from the settings, or from a secret that is looked at again and again. */
export async function startKeys(settings: Settings, log: Log, lookEveryMs: number = LOOK_EVERY_MS): Promise<Keys> {
  if (settings.awsApiKeysSecret === "") return keysOf(bearerAuth(settings.apiKeys));
  const { apiKeysSecret } = await import("../platforms/aws/api-keys.ts");
  const secret = apiKeysSecret({ ...awsServices(settings), secretName: settings.awsApiKeysSecret });

  async function read(): Promise<readonly string[]> {
    const parsed = settingsTable.apiKeys.parse((await secret.read()).trim());
    if ("problem" in parsed)
      throw new Error(`the secret ${settings.awsApiKeysSecret} holds no good keys: ${parsed.problem}`);
    if (parsed.value.length === 0) throw new Error(`the secret ${settings.awsApiKeysSecret} holds no key`);
    return parsed.value;
  }

  const auth = bearerAuth(
    await read().catch((error: Error) => {
      secret.close();
      throw new CannotStart(error.message, "put the API keys into the secret, comma-separated");
    }),
  );
  const timer = setInterval(() => {
    // The keys we have still hold.
    read().then(auth.change, (error: Error) => log.error("api-keys", { error: error.message }));
  }, lookEveryMs);
  timer.unref();
  return {
    auth,
    async change() {
      const keys = await read();
      auth.change(keys);
      return keys.length;
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      secret.close();
    },
  };
}

function keysOf(auth: BearerAuth): Keys {
  return {
    auth,
    async change(apiKeys) {
      auth.change(apiKeys);
      return apiKeys.length;
    },
    [Symbol.dispose]() {},
  };
}
