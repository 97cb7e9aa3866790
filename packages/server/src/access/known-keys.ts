import { timingSafeEqual } from "node:crypto";
import { type Repeated, type RepeatedOptions, repeated } from "../flow/repeated.ts";
import type { Access, AccessStore, StoredKey, Tenant } from "./access-store.ts";
import { readSecret, secretDigest } from "./api-key.ts";

/** Keys and tenants as this process knows them. */
export interface KnownKeys {
  /** `ended` is for who has the whole secret of a key that is accepted no more; `other` is no secret of a key that was made. */
  find(secret: string): FoundKey;
  /** For who has shown the secret of this key before. */
  byId(id: string): Exclude<FoundKey, { kind: "other" | "mistyped" }>;
  /** Whether there is such a key that is accepted now. */
  some(fits: (key: StoredKey) => boolean): boolean;
  /** One that nobody declared has a weight of 1 and no limits. */
  tenant(name: string): Tenant;
  /** Of the tenants that have another weight than 1. */
  weights(): ReadonlyMap<string, number>;
  /** Whether a tenant, or any of its keys, has a limit of jobs waiting. */
  limitsJobs(tenant: string): boolean;
}

type FoundKey =
  | { kind: "accepted"; key: StoredKey; tenant: Tenant }
  | { kind: "ended"; key: StoredKey }
  | { kind: "other" }
  | { kind: "mistyped" }
  | { kind: "unknown" }
  /** Keys could not be read yet. */
  | { kind: "unread" };

export interface ChangingKeys extends KnownKeys {
  change(access: Access): void;
  /** When keys were last accepted, by id, since this was last asked. */
  takeUsed(): ReadonlyMap<string, number>;
}

export function knownKeys(now: () => number): ChangingKeys {
  let keys: Map<string, { key: StoredKey; digest: Buffer }> | undefined;
  let tenants = new Map<string, Tenant>();
  let used = new Map<string, number>();
  let weights = new Map<string, number>();
  let limitedInJobs = new Set<string>();

  function tenant(name: string): Tenant {
    return tenants.get(name) ?? { name, weight: 1, limits: {} };
  }

  const hasEnded = ({ expiresAt }: StoredKey): boolean => expiresAt !== undefined && expiresAt <= now();

  function state(key: StoredKey): Extract<FoundKey, { kind: "accepted" | "ended" }> {
    if (hasEnded(key)) return { kind: "ended", key };
    used.set(key.id, now());
    return { kind: "accepted", key, tenant: tenant(key.tenant) };
  }

  return {
    tenant,
    weights: () => weights,
    limitsJobs: (name) => limitedInJobs.has(name),

    find(secret) {
      const read = readSecret(secret);
      if (read.kind !== "ours") return { kind: read.kind };
      if (!keys) return { kind: "unread" };
      const offered = Buffer.from(secretDigest(secret), "hex");
      const found = keys.get(read.id);
      // An id is public. What is compared is the digest, so that the time shows nothing of the secret.
      if (!found || !timingSafeEqual(found.digest, offered)) return { kind: "unknown" };
      return state(found.key);
    },

    byId(id) {
      if (!keys) return { kind: "unread" };
      const found = keys.get(id);
      return found ? state(found.key) : { kind: "unknown" };
    },

    some: (fits) => keys?.values().some(({ key }) => !hasEnded(key) && fits(key)) ?? false,

    takeUsed() {
      const taken = used;
      used = new Map();
      return taken;
    },

    change(access) {
      keys = new Map(access.keys.map((key) => [key.id, { key, digest: Buffer.from(key.digest, "hex") }]));
      tenants = new Map(access.tenants.map((each) => [each.name, each]));
      // One that makes no sense, in a row that was changed by hand, must not stop all others.
      const weighed = access.tenants.filter(({ weight }) => weight !== 1 && weight > 0 && Number.isFinite(weight));
      weights = new Map(weighed.map(({ name, weight }) => [name, weight]));
      const named = [...access.tenants, ...access.keys.map(({ tenant: name, limits }) => ({ name, limits }))];
      limitedInJobs = new Set(named.filter(({ limits }) => limits.jobsWaiting !== undefined).map(({ name }) => name));
    },
  };
}

/** Writes down every so often when keys were used. */
export function noteUsed(keys: ChangingKeys, store: AccessStore, options: RepeatedOptions): Repeated {
  return repeated(() => store.used(keys.takeUsed()), options);
}

/** What is declared in a file stands before what was made by commands. */
export function together(stored: Access, declared: Access): Access {
  const names = new Set(declared.tenants.map(({ name }) => name));
  const ids = new Set(declared.keys.map(({ id }) => id));
  return {
    keys: [...stored.keys.filter(({ id }) => !ids.has(id)), ...declared.keys],
    tenants: [...stored.tenants.filter(({ name }) => !names.has(name)), ...declared.tenants],
  };
}

export interface FollowOptions extends RepeatedOptions {
  /** Called with what is new. What was known before holds while that cannot be read. */
  onChange(access: Access): void;
}

/** Reads keys and tenants, and again when they have changed. */
export async function followAccess(
  store: Pick<AccessStore, "version" | "read">,
  options: FollowOptions,
): Promise<Repeated> {
  let version: string | undefined;

  async function look(): Promise<void> {
    const now = await store.version();
    if (now === version) return;
    options.onChange(await store.read());
    // As it was before reading: what changed meanwhile is read again.
    version = now;
  }

  await look().catch(options.onFailure);
  return repeated(look, options);
}

/** Whether a pattern with `*` for anything fits all of a text. */
function fitsPattern(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return text === first;
  if (!text.startsWith(first)) return false;
  const last = rest.pop() ?? "";
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return text.length - last.length >= from && text.endsWith(last);
}

export function mayUseBucket({ buckets }: Tenant, bucket: string): boolean {
  return buckets === undefined || buckets.some((pattern) => fitsPattern(pattern, bucket));
}
