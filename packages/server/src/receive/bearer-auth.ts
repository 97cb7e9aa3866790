import { hash, timingSafeEqual } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { SCOPES, type StoredKey } from "../access/access-store.ts";
import { type KnownKeys, knownKeys } from "../access/known-keys.ts";
import { recentlyUsed } from "../flow/recently-used.ts";
import { type Repeated, type RepeatedOptions, repeated } from "../flow/repeated.ts";
import { QueueUnavailable } from "../model/faults.ts";
import { type Account, DEFAULT_TENANT, flatKeyName } from "../model/tenant.ts";
import { Problem } from "./problem.ts";
import type { KeyHolder } from "./route.ts";

/**
 * An offered key's digest is compared with every accepted one of the settings, and in full, so that timing gives nothing away. Keys that
 * were made with `lazaret keys create` are found by their public id.
 */
export interface BearerAuth {
  /**
   * Whose the secret is that the request carries: as `Authorization: Bearer`, or as `x-api-key` in the other dialect. Throws the
   * 401 problem when it carries none that is accepted, and `QueueUnavailable` while nobody knows.
   */
  check(headers: Readonly<Record<string, string | undefined>>): KeyHolder;
  /** From now on these are the keys of the settings. */
  change(apiKeys: readonly string[]): void;
  /** Those that were made are others than before. */
  forget(): void;
}

const HINT =
  "send the header Authorization: Bearer <API_KEY>, with a key of LAZARET_API_KEYS or one that lazaret keys create made";

/** Who holds the whole secret of a key is known by its name, though it is accepted no more. */
export class EndedKey extends Problem {
  readonly account: Account;

  constructor({ tenant, name, expiresAt = 0 }: StoredKey) {
    super(401, "invalid_api_key", {
      message: `the key ${name} of ${tenant} has ended, ${new Date(expiresAt).toISOString()}`,
      hint: `an operator makes a new secret: lazaret keys rotate ${tenant}/${name}`,
      headers: { "WWW-Authenticate": "Bearer" },
    });
    this.account = { tenant, key: name };
  }
}

/** Headers that are remembered: one client writes its key in one way. */
const MOST_REMEMBERED = 256;

export function bearerAuth(apiKeys: readonly string[], made: KnownKeys = knownKeys(Date.now)): BearerAuth {
  let accepted = apiKeys.map(digest);
  /**
   * Headers with a right key of the settings, and whose it is. To find one takes as long for every wrong key: it is looked up by a hash
   * with a seed of this process, and compared with a header of the same hash only. Wrong ones are not remembered, nor those that end.
   */
  const remembered = new Map<string, KeyHolder>();

  function holderOf(secret: string): KeyHolder | undefined {
    const offered = digest(secret);
    let found = 0;
    for (const [index, key] of accepted.entries()) found = timingSafeEqual(key, offered) ? index + 1 : found;
    if (found === 0) return undefined;
    const tenant = made.tenant(DEFAULT_TENANT);
    const limitsJobs = made.limitsJobs(tenant.name);
    return {
      account: { tenant: tenant.name, key: flatKeyName(found) },
      scopes: SCOPES,
      tenant,
      limits: {},
      limitsJobs,
    };
  }

  /** Or why it is none, for who has a secret that looks like one of a key that was made. */
  function madeHolder(secret: string): KeyHolder | Problem | undefined {
    const found = made.find(secret);
    if (found.kind === "other") return undefined;
    if (found.kind === "unread") throw new QueueUnavailable("keys and tenants could not be read yet");
    if (found.kind === "mistyped") {
      return unauthorized(
        "the secret looks like one of lazaret keys create, and has a wrong or a missing character",
        "copy all of it: lz_, 8 characters, _ and 38 more",
      );
    }
    // The same for every secret that is well formed: who makes one up learns nothing.
    if (found.kind === "unknown") {
      return unauthorized(
        "the secret is not one of this installation's API keys: it was revoked, belongs to another installation, or was made a moment ago",
        "a new key is accepted within 10 seconds; an operator sees with lazaret keys list whether it is there",
      );
    }
    if (found.kind === "ended") return new EndedKey(found.key);
    const { name, tenant, scopes, limits } = found.key;
    const limitsJobs = made.limitsJobs(tenant);
    return { account: { tenant, key: name }, scopes, tenant: found.tenant, limits, limitsJobs };
  }

  return {
    check({ authorization, "x-api-key": apiKey }) {
      const known = apiKey === undefined && authorization !== undefined ? remembered.get(authorization) : undefined;
      if (known !== undefined) return known;
      const bearer = bearerOf(authorization);
      const offered = [bearer, apiKey?.trim() || undefined].filter((key) => key !== undefined);
      for (const secret of offered) {
        const holder = holderOf(secret);
        const isBearer = apiKey === undefined && authorization !== undefined;
        if (holder && isBearer && remembered.size < MOST_REMEMBERED) remembered.set(authorization, holder);
        if (holder) return holder;
      }
      let why: Problem | undefined;
      for (const secret of offered) {
        const found = madeHolder(secret);
        if (found instanceof Problem) why ??= found;
        else if (found) return found;
      }
      if (why) throw why;
      if (offered.length > 0) throw unauthorized("the secret is not one of this installation's API keys");
      throw unauthorized(
        authorization === undefined ? "the Authorization header is missing" : "the Authorization header is malformed",
      );
    },
    change(keys) {
      accepted = keys.map(digest);
      remembered.clear();
    },
    forget: () => remembered.clear(),
  };
}

/** The secret in a header Authorization, if it has that form. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +([\x21-\x7e]+)$/i.exec(authorization?.trim() ?? "")?.[1];
}

export interface ReloadedAuth extends Repeated {
  auth: BearerAuth;
  /** Reads them now. Answers how many there are; the old ones stay when it throws. */
  reload(): Promise<number>;
}

/** Accepts the keys that `read` answers, and reads them again every so often. Those that it has still hold when that fails. */
export async function reloadedAuth(
  read: () => Promise<readonly string[]>,
  { made, ...options }: RepeatedOptions & { made?: KnownKeys },
): Promise<ReloadedAuth> {
  const auth = bearerAuth(await read(), made);
  async function reload(): Promise<number> {
    const keys = await read();
    auth.change(keys);
    return keys.length;
  }
  return { auth, reload, ...repeated(reload, options) };
}

function digest(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

function unauthorized(message: string, hint: string = HINT): Problem {
  return new Problem(401, "invalid_api_key", {
    message,
    hint,
    headers: { "WWW-Authenticate": "Bearer" },
  });
}

/**
 * Slows down who tries keys, by address. A wrong key counts one, and a second forgives one: a client with an old key that asks
 * now and then does not notice. Who goes on waits for its 401, longer each time, and then gets 429 at once. A right key is
 * never held up: with keys of 16 characters nobody guesses one, and a stranger must not be able to lock a client out that
 * shares its address.
 */
export interface WrongKeys {
  /** To be called before a wrong key is answered. Resolves when it may be; throws the 429 problem. */
  hold(address: string, signal: AbortSignal): Promise<void>;
}

export interface WrongKeysOptions {
  now?: () => number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** So many are answered at once. */
const FREE = 10;
/** Further ones wait this much longer each… */
const STEP_MS = 50;
/** …and beyond this count there is nothing to wait for. */
const SLOWED = 50;
/** What was counted beyond that is not held against anybody for longer than this many seconds. */
const LONGEST_SECONDS = 30;
/** Addresses that are remembered, and answers that are held back, at the same time: both cost memory. */
const MOST_ADDRESSES = 10_000;
const MOST_HELD = 500;

export function wrongKeys(options: WrongKeysOptions = {}): WrongKeys {
  const { now = () => performance.now(), sleep = orGone } = options;
  const tried = recentlyUsed<{ count: number; at: number }>(MOST_ADDRESSES);
  let held = 0;

  function countOf(address: string): number {
    const group = groupOf(address);
    const before = tried.get(group);
    const forgiven = before ? (now() - before.at) / 1000 : 0;
    const count = Math.min(Math.max(0, (before?.count ?? 0) - forgiven) + 1, SLOWED + LONGEST_SECONDS);
    tried.set(group, { count, at: now() });
    return count;
  }

  return {
    async hold(address, signal) {
      const count = countOf(address);
      if (count <= FREE) return;
      if (count > SLOWED || held >= MOST_HELD) throw tooManyWrongKeys(Math.max(1, Math.ceil(count - SLOWED)));
      held += 1;
      try {
        await sleep((count - FREE) * STEP_MS, signal);
      } finally {
        held -= 1;
      }
    },
  };
}

/** A network of IPv6 gives each of its members as many addresses as they like. */
export function groupOf(address: string): string {
  if (!address.includes(":")) return address;
  const [front = "", back = ""] = address.split("::");
  const groups = front === "" ? [] : front.split(":");
  const missing = address.includes("::") ? 8 - groups.length - (back === "" ? 0 : back.split(":").length) : 0;
  return [...groups, ...Array<string>(Math.max(0, missing)).fill("0")].slice(0, 4).join(":");
}

function tooManyWrongKeys(seconds: number): Problem {
  return new Problem(429, "too_many_wrong_keys", {
    message: "too many requests with wrong API keys came from this address",
    hint: HINT,
    headers: { "Retry-After": String(seconds) },
  });
}

/** Whoever hangs up need not be waited for. */
async function orGone(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => {});
}
