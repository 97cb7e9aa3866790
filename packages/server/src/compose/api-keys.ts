import { type Access, type AccessStore, NEVER_CHANGED } from "../access/access-store.ts";
import { sweepEndedKeys } from "../access/ended-keys.ts";
import { followAccess, type KnownKeys, knownKeys, noteUsed, together } from "../access/known-keys.ts";
import type { Repeated } from "../flow/repeated.ts";
import { saidLately } from "../flow/said-lately.ts";
import type { Log } from "../log.ts";
import { QueueUnavailable } from "../model/faults.ts";
import { ACCESS_EVERY_MS, ENDED_EVERY_MS, KEYS_EVERY_MS, SHORTEST_KEY, USED_EVERY_MS } from "../pipeline/limits.ts";
import type { Platform } from "../platforms/platform.ts";
import { type BearerAuth, bearerAuth, reloadedAuth } from "../receive/bearer-auth.ts";
import { type Settings, settingsTable } from "../settings.ts";
import { CannotStart } from "./cannot-start.ts";
import { awsServices } from "./platform.ts";
import { startTenantsFile } from "./tenants-file.ts";

const NOTHING: Access = { keys: [], tenants: [] };

/** Catches up with a secret that is read again and again. */
export interface Keys extends Repeated {
  auth: BearerAuth;
  /** Those that were made, as far as they are followed. */
  made: KnownKeys;
  /** Of the tenants that have another weight than 1, as far as they are followed. */
  weights(): ReadonlyMap<string, number>;
  /**
   * Accepts the keys that were made in the platform's store and declared in LAZARET_TENANTS_FILE as well, and follows their changes.
   * While the store was never read, those who come with such a key are told to try again. Without `stays`, as in a function, ended keys
   * are removed and the audit log is written by others.
   * Throws `CannotStart` for mistakes in the file.
   */
  follow(platform: Pick<Platform, "access" | "audit">, stays?: boolean): Promise<Repeated>;
  /** From now on these are the keys, or those in the secret as it is now. Answers how many; the old ones stay when it throws. */
  change(apiKeys: readonly string[]): Promise<number>;
}

export interface KeysOptions {
  reloadEveryMs?: number | undefined;
  /** For trying it out. */
  allowShort?: boolean | undefined;
  now?: (() => number) | undefined;
}

/** The accepted keys: from the settings, or from a secret that is read again and again. */
export async function startKeys(settings: Settings, log: Log, options: KeysOptions = {}): Promise<Keys> {
  const { reloadEveryMs = KEYS_EVERY_MS, allowShort = false, now = Date.now } = options;
  const made = knownKeys(now);
  const following = (auth: BearerAuth): Pick<Keys, "follow" | "weights" | "made"> => ({
    made,
    weights: made.weights,
    async follow({ access, audit }, stays = true) {
      let stored: Access | undefined;
      let declared = NOTHING;
      const change = (): void => {
        // Those in the file alone would make strangers of all others.
        if (stored) made.change(together(stored, declared));
        auth.forget();
      };
      const said = saidLately();
      const onFailure = (error: Error): void => {
        if (!said(error.message)) log.error("api_keys", { error: error.message });
      };
      using undo = new DisposableStack();
      if (settings.tenantsFile !== "") {
        const onChange = (access: Access): void => {
          declared = access;
          change();
        };
        undo.use(
          await startTenantsFile(settings.tenantsFile, { audit: stays ? audit : undefined, log, now, onChange }),
        );
      }
      const onChange = (access: Access): void => {
        stored = access;
        change();
      };
      const stores = undo.use(await followAccess(access, { everyMs: ACCESS_EVERY_MS, onChange, onFailure, now }));
      if (stays) await checkSomebodyMayAsk(settings, access);
      // On AWS the roles of APIs may not delete.
      if (stays && (settings.platform !== "aws" || settings.role !== "api"))
        undo.use(await sweepEndedKeys({ access, audit }, { now, everyMs: ENDED_EVERY_MS, onFailure }));
      const uses = undo.use(noteUsed(made, access, { everyMs: USED_EVERY_MS, onFailure, now }));
      const all = undo.move();
      return {
        async catchUp() {
          await Promise.all([stores.catchUp(), uses.catchUp()]);
        },
        [Symbol.dispose]: () => all.dispose(),
      };
    },
  });
  const short = (keys: readonly string[]): string | undefined => {
    const at = allowShort ? -1 : keys.findIndex((key) => key.length < SHORTEST_KEY);
    return at === -1 ? undefined : `key ${at + 1} has fewer than ${SHORTEST_KEY} characters`;
  };
  if (settings.awsApiKeysSecret === "") {
    const check = (keys: readonly string[]): readonly string[] => {
      const problem = short(keys);
      if (!problem) return keys;
      throw new CannotStart(
        `LAZARET_API_KEYS: ${problem}, and can be guessed`,
        "openssl rand -hex 24 makes a good one; lazaret dev takes short ones, for trying it out",
      );
    };
    const auth = bearerAuth(check(settings.apiKeys), made);
    return { ...keysOf(auth, check), ...following(auth) };
  }
  const { apiKeysSecret } = await import("../platforms/aws/secrets.ts");
  const secret = apiKeysSecret({ ...awsServices(settings), secretName: settings.awsApiKeysSecret });

  async function read(): Promise<readonly string[]> {
    const parsed = settingsTable.apiKeys.parse((await secret.read()).trim());
    const problem = "problem" in parsed ? parsed.problem : short(parsed.value);
    if ("problem" in parsed || problem)
      throw new Error(`the secret ${settings.awsApiKeysSecret} holds no good keys: ${problem}`);
    if (parsed.value.length === 0) throw new Error(`the secret ${settings.awsApiKeysSecret} holds no key`);
    return parsed.value;
  }

  const reloaded = await reloadedAuth(read, {
    everyMs: reloadEveryMs,
    now,
    made,
    onFailure: (error) => log.error("api_keys", { error: error.message }),
  }).catch((error: Error) => {
    secret.close();
    if (error instanceof QueueUnavailable) throw error;
    throw new CannotStart(error.message, "put the API keys into the secret, comma-separated");
  });
  return {
    auth: reloaded.auth,
    ...following(reloaded.auth),
    change: reloaded.reload,
    catchUp: reloaded.catchUp,
    [Symbol.dispose]() {
      reloaded[Symbol.dispose]();
      secret.close();
    },
  };
}

/**
 * Who forgot to set keys is told so. Where some were made, though none is left, the service starts: there may be jobs to work off.
 */
async function checkSomebodyMayAsk(settings: Settings, access: AccessStore): Promise<void> {
  const { apiKeys, awsApiKeysSecret, tenantsFile, role } = settings;
  if (apiKeys.length > 0 || awsApiKeysSecret !== "" || tenantsFile !== "" || role === "worker") return;
  if ((await access.version()) !== NEVER_CHANGED) return;
  throw new CannotStart(
    "no API key is set, and none was made",
    "lazaret keys create --name web --scope scan,read makes one, or set LAZARET_API_KEYS to one or more secrets (openssl rand -hex 24 makes a good one); lazaret dev needs neither",
  );
}

function keysOf(
  auth: BearerAuth,
  check: (keys: readonly string[]) => readonly string[],
): Omit<Keys, "follow" | "weights" | "made"> {
  return {
    auth,
    async change(apiKeys) {
      auth.change(check(apiKeys));
      return apiKeys.length;
    },
    async catchUp() {},
    [Symbol.dispose]() {},
  };
}
