import type { ObjectSchema } from "@lazaret/contract";
import type { AdminKey, AdminMadeKey, AdminPage } from "@lazaret/contract/admin";
import { type Access, type AccessStore, SCOPES, type Scope, type StoredKey } from "../access/access-store.ts";
import { addAlone } from "../access/add-alone.ts";
import { hasEnded, keyFacts, keyInWords, makeKey } from "../access/make-key.ts";
import { DEFAULT_TENANT, keyNameProblem, tenantProblem } from "../model/tenant.ts";
import { checkBody, readJsonObject } from "../receive/body/json-body.ts";
import { badRequest, Problem } from "../receive/problem.ts";
import type { ApiRequest } from "../receive/request-answer.ts";
import type { ConsoleCaller } from "../receive/route.ts";

export interface KeyParts {
  access: AccessStore;
  /** Those of the settings, which have no more than a place. */
  settingsKeys(): readonly Pick<AdminKey, "name" | "scopes">[];
  /** What LAZARET_TENANTS_FILE declares. */
  declared(): Promise<Access>;
  now(): number;
}

const DAY_MS = 86_400_000;
const MOST_DAYS = 3650;

const makeSchema: ObjectSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", description: "What it is called in logs and lists.", maxLength: 63 },
    tenant: { type: "string", description: "Whose it is.", maxLength: 63 },
  },
};

const revokeSchema: ObjectSchema = {
  type: "object",
  required: ["id"],
  properties: { id: { type: "string", description: "As the list of keys has it.", minLength: 1, maxLength: 64 } },
};

export async function listKeys(parts: KeyParts): Promise<AdminPage<AdminKey>> {
  const [{ keys }, declared] = await Promise.all([parts.access.read(), parts.declared()]);
  const ids = new Set(declared.keys.map(({ id }) => id));
  const now = parts.now();
  return {
    entries: [
      ...parts.settingsKeys().map((key) => ({
        ...key,
        tenant: DEFAULT_TENANT,
        ended: false,
        from: "settings" as const,
      })),
      ...declared.keys.map((key) => shownKey(key, now, "tenants_file")),
      ...keys.filter(({ id }) => !ids.has(id)).map((key) => shownKey(key, now, "made")),
    ],
  };
}

function shownKey(key: StoredKey, now: number, from: "made" | "tenants_file"): AdminKey {
  const { id, name, tenant, scopes, madeAt, lastUsedAt, expiresAt } = key;
  return {
    id,
    name,
    tenant,
    scopes: [...scopes],
    ...(madeAt > 0 && { made_at: madeAt }),
    ...(lastUsedAt !== undefined && { last_used_at: lastUsedAt }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ended: hasEnded(key, now),
    from,
  };
}

export async function makeKeyAsked(parts: KeyParts, request: ApiRequest, caller: ConsoleCaller): Promise<AdminMadeKey> {
  const body = await readJsonObject(request);
  const { name, tenant = DEFAULT_TENANT } = checkBody<{ name: string; tenant?: string }>(body, makeSchema);
  const problem = tenantProblem(tenant);
  if (problem) throw badRequest("invalid_request", `tenant ${problem}`);
  const wrongName = keyNameProblem(name, tenant);
  if (wrongName) throw badRequest("invalid_request", `name ${wrongName}`);
  const scopes = scopesIn(body.scopes);
  const now = parts.now();
  const days = daysIn(body.expires_days);
  const [{ keys }, declared] = await Promise.all([parts.access.read(), parts.declared()]);
  if ([...keys, ...declared.keys].some((key) => key.tenant === tenant && key.name === name && !hasEnded(key, now))) {
    throw taken(tenant, name);
  }
  const expires = days === undefined ? {} : { expiresAt: now + days * DAY_MS };
  const { key, secret } = makeKey({ name, tenant, scopes, limits: {}, ...expires }, now);
  await caller.record(keyInWords(key), keyFacts(key));
  if (!(await addAlone(parts.access, key, now))) throw taken(tenant, name);
  return { key: shownKey(key, now, "made"), secret };
}

/** Taken away and not only ended: a clock that is behind would accept it for longer. */
export async function revokeKey(parts: KeyParts, request: ApiRequest, caller: ConsoleCaller): Promise<AdminKey> {
  const { id } = checkBody<{ id: string }>(await readJsonObject(request), revokeSchema);
  const declared = await parts.declared();
  if (declared.keys.some((key) => key.id === id)) {
    throw new Problem(409, "declared", {
      message: "this key is declared in LAZARET_TENANTS_FILE",
      hint: "take it away there",
    });
  }
  const { keys } = await parts.access.read();
  const key = keys.find((each) => each.id === id);
  if (!key) throw new Problem(404, "not_found", { message: "there is no key of this id" });
  await caller.record(keyInWords(key));
  await parts.access.removeKey(id);
  return { ...shownKey(key, parts.now(), "made"), ended: true };
}

function scopesIn(value: unknown): Scope[] {
  const isScope = (each: unknown): boolean => (SCOPES as readonly unknown[]).includes(each);
  if (!Array.isArray(value) || value.length === 0 || !value.every(isScope)) {
    throw badRequest("invalid_request", `scopes must be a list of some of ${SCOPES.join(", ")}`);
  }
  return SCOPES.filter((scope) => value.includes(scope));
}

function daysIn(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MOST_DAYS) return value;
  throw badRequest("invalid_request", `expires_days must be a whole number from 1 to ${MOST_DAYS}`);
}

function taken(tenant: string, name: string): Problem {
  return new Problem(409, "name_taken", {
    message: `there is a key ${tenant}/${name} already`,
    hint: `revoke it first, or lazaret keys rotate ${tenant}/${name} makes a new secret for it`,
  });
}
