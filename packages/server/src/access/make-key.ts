import type { Limits, StoredKey } from "./access-store.ts";
import { newSecret } from "./api-key.ts";

export interface MadeKey {
  key: StoredKey;
  secret: string;
}

/** A secret for such a key, to be kept next. */
export function makeKey(parts: Omit<StoredKey, "id" | "digest" | "madeAt" | "madeForMs">, madeAt: number): MadeKey {
  const { id, secret, digest } = newSecret();
  const { expiresAt } = parts;
  const key = { ...parts, id, digest, madeAt, ...(expiresAt !== undefined && { madeForMs: expiresAt - madeAt }) };
  return { key, secret };
}

/** As lists and the audit log call it. */
export function keyInWords({ tenant, name, id }: StoredKey): string {
  return `${tenant}/${name} (${id})`;
}

/** What the audit log has of a key. */
export function keyFacts({ scopes, expiresAt, limits }: StoredKey): Record<string, string | number> {
  return {
    scopes: scopes.join(","),
    ...(expiresAt !== undefined && { expires: new Date(expiresAt).toISOString() }),
    ...(limits as Record<keyof Limits, number>),
  };
}

export function hasEnded({ expiresAt = Number.POSITIVE_INFINITY }: StoredKey, now: number): boolean {
  return expiresAt <= now;
}
