import { hash, timingSafeEqual } from "node:crypto";
import type { AdminRole } from "@lazaret/contract/admin";
import type { StoredKey } from "../../access/access-store.ts";
import type { KnownKeys } from "../../access/known-keys.ts";
import { QueueUnavailable } from "../../model/faults.ts";
import { DEFAULT_TENANT } from "../../model/tenant.ts";
import { EndedKey } from "../bearer-auth.ts";
import { Problem } from "../problem.ts";

/** A key that opens the console. */
export interface ConsoleKey {
  /** What a session knows it by. */
  ref: string;
  /** The digest of its secret. A session has it too, so that an id alone names no key. */
  digest: string;
  /** Its name, for people. */
  who: string;
  role: AdminRole;
}

/** Keys of LAZARET_ADMIN_KEYS and LAZARET_VIEWER_KEYS. */
export interface SetKeys {
  adminKeys: readonly string[];
  viewerKeys: readonly string[];
}

/**
 * Who may enter: the keys that are set for it, and those that were made with the scope admin or viewer for the tenant `default`, because
 * the console shows the whole installation. Keys of LAZARET_API_KEYS are in the hands of programs, and open nothing here.
 */
export interface ConsoleKeys {
  /** Compared in full with every key that is set, so that timing gives nothing away. Throws the 401 or 403 problem. */
  bySecret(secret: string): ConsoleKey;
  /** The same key as it is now; undefined when it opens the console no more. Throws `QueueUnavailable` while nobody knows. */
  byRef(ref: string): ConsoleKey | undefined;
  /** Whose links open it: the first that is set for operators. */
  first(): ConsoleKey | undefined;
  /** Whether anybody may enter. */
  some(): boolean;
  change(keys: SetKeys): void;
}

const MADE = "made:";

export function consoleKeys(keys: SetKeys, made: KnownKeys): ConsoleKeys {
  let set = numbered(keys);

  function madeKey(key: StoredKey): ConsoleKey {
    const { id, name, tenant, digest } = key;
    const role = roleOf(key);
    if (!role) {
      throw new Problem(403, "missing_scope", {
        message: `the key ${name} has neither the scope admin nor viewer`,
        hint: "an operator can make one that has: lazaret keys create --name NAME --scope admin",
      });
    }
    if (tenant !== DEFAULT_TENANT) {
      throw new Problem(403, "other_tenant", {
        message: `the key ${name} belongs to the tenant ${tenant}, and the console shows the whole installation`,
        hint: `only keys of the tenant ${DEFAULT_TENANT} open it`,
      });
    }
    return { ref: `${MADE}${id}`, digest, who: name, role };
  }

  return {
    bySecret(secret) {
      const offered = digest(secret);
      let accepted: ConsoleKey | undefined;
      for (const { key, secretDigest } of set) if (timingSafeEqual(secretDigest, offered)) accepted = key;
      if (accepted) return accepted;
      const found = made.find(secret);
      if (found.kind === "accepted") return madeKey(found.key);
      if (found.kind === "ended") throw new EndedKey(found.key);
      if (found.kind === "unread") throw new QueueUnavailable("keys and tenants could not be read yet");
      throw wrongKey();
    },

    byRef(ref) {
      if (!ref.startsWith(MADE)) return set.find(({ key }) => key.ref === ref)?.key;
      const found = made.byId(ref.slice(MADE.length));
      if (found.kind === "unread") throw new QueueUnavailable("keys and tenants could not be read yet");
      return found.kind === "accepted" ? madeKey(found.key) : undefined;
    },

    first: () => set.find(({ key }) => key.role === "admin")?.key,
    some: () => set.length > 0 || made.some((key) => key.tenant === DEFAULT_TENANT && roleOf(key) !== undefined),
    change(given) {
      set = numbered(given);
    },
  };
}

interface SetKey {
  key: ConsoleKey;
  secretDigest: Buffer;
}

function numbered({ adminKeys, viewerKeys }: SetKeys): SetKey[] {
  const named = (role: AdminRole) => (secret: string, index: number) => {
    const secretDigest = digest(secret);
    const text = secretDigest.toString("base64url");
    return { key: { ref: text, digest: text, who: `${role}-${index + 1}`, role }, secretDigest };
  };
  return [...adminKeys.map(named("admin")), ...viewerKeys.map(named("viewer"))];
}

function roleOf({ scopes }: StoredKey): AdminRole | undefined {
  return (["admin", "viewer"] as const).find((role) => scopes.includes(role));
}

function digest(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}

export const KEY_HINT =
  "LAZARET_ADMIN_KEYS and LAZARET_VIEWER_KEYS open the console, and keys of lazaret keys create --scope admin or viewer; those of LAZARET_API_KEYS do not";

function wrongKey(): Problem {
  return new Problem(401, "wrong_key", {
    message: "this is none of the keys that open the console",
    hint: KEY_HINT,
    headers: { "WWW-Authenticate": "Bearer" },
  });
}
