import type { AccessStore, StoredKey } from "./access-store.ts";

/**
 * Keeps a key of whose name there is no other that is good. Of several who do so at the same moment, who then sees another steps back;
 * perhaps all of them do, but never none. Throws `QueueUnavailable`.
 */
export async function addAlone(access: AccessStore, key: StoredKey, now: number): Promise<boolean> {
  if (!(await access.addKey(key))) return false;
  const { keys } = await access.read();
  const isAnother = ({ id, tenant, name, expiresAt = Number.POSITIVE_INFINITY }: StoredKey): boolean =>
    id !== key.id && tenant === key.tenant && name === key.name && expiresAt > now;
  if (!keys.some(isAnother)) return true;
  await access.removeKey(key.id);
  return false;
}
