import { randomUUID } from "node:crypto";
import { type AccessStore, NEVER_CHANGED } from "../../access/access-store.ts";
import { isDeclared, keyContent, keyOf, tenantOf } from "../shared/access-rows.ts";
import { ANY, type Attributes, type Table } from "./table.ts";

const PARTITION = "access";
const THERE = "attribute_exists(pk)";

/** A change that was cut off is looked for this often, until the next one. */
const LOOKED_FOR_MS = 30_000;

/**
 * One partition with an item for each key and tenant, and one for the version, which is written after them: a process that reads in
 * between reads once more. That there will be a change is noted in it before: of a command that is killed in between the note stays.
 */
export function tableAccess(table: Table, now: () => number): AccessStore {
  const itemOf = (name: string): Attributes => ({ pk: { S: PARTITION }, sk: { S: name } });
  const keyItem = (id: string): Attributes => itemOf(`key#${id}`);
  const tenantItem = (name: string): Attributes => itemOf(`tenant#${name}`);
  const versionItem = itemOf("version");

  async function changing<Outcome>(change: () => Promise<Outcome>): Promise<Outcome> {
    const own = { S: randomUUID() };
    const before = (await table.updated(versionItem, { if: ANY, set: { changing: own } }))?.version;
    const outcome = await change();
    if (outcome === false && (await asBefore(own, before))) return outcome;
    const next = { if: "changing = :own", values: { ":own": own }, set: { version: own }, remove: ["changing"] };
    // Somebody else is at it as well: their note stays.
    if (!(await table.update(versionItem, next))) await table.update(versionItem, { if: ANY, set: { version: own } });
    return outcome;
  }

  /** Nothing was changed, here or by anybody else. */
  async function asBefore(own: Attributes[string], version: Attributes[string] | undefined): Promise<boolean> {
    const mine = { if: "changing = :own", values: { ":own": own } };
    if (!version) {
      return (
        (await table.remove(versionItem, { ...mine, if: `${mine.if} AND attribute_not_exists(version)` })) !== false
      );
    }
    const same = { if: `${mine.if} AND version = :version`, values: { ...mine.values, ":version": version } };
    return table.update(versionItem, { ...same, set: { version }, remove: ["changing"] });
  }

  async function items(): Promise<Attributes[]> {
    const all: Attributes[] = [];
    let after: Attributes | undefined;
    do {
      const page = await table.query({ pk: PARTITION, newestFirst: false, consistent: true, ...(after && { after }) });
      all.push(...page.items);
      after = page.next;
    } while (after);
    return all;
  }

  return {
    async version() {
      const { version, changing: note } = (await table.get(versionItem)) ?? {};
      const known = version?.S ?? NEVER_CHANGED;
      return note ? `${known} ${note.S} ${Math.floor(now() / LOOKED_FOR_MS)}` : known;
    },

    async read() {
      const all = await items();
      const of = (kind: string): Attributes[] => all.filter(({ sk }) => sk?.S?.startsWith(`${kind}#`));
      const keys = of("key").map(({ content, expires, last_used: lastUsed }) =>
        keyOf({ content: content?.S ?? "{}", expiresAt: numberIn(expires), lastUsedAt: numberIn(lastUsed) }),
      );
      return {
        keys: keys.sort((one, other) => one.madeAt - other.madeAt),
        tenants: of("tenant").map(({ content }) => tenantOf(content?.S ?? "{}")),
      };
    },

    addKey(key) {
      const item = {
        ...keyItem(key.id),
        content: { S: keyContent(key) },
        ...(key.expiresAt !== undefined && { expires: { N: String(key.expiresAt) } }),
      };
      // Its own content: the answer to a first try was lost.
      const condition = {
        if: "attribute_not_exists(pk) OR content = :content",
        values: { ":content": item.content },
      };
      return changing(async () => (await table.put(item, condition)) !== undefined);
    },

    endKey(id, at) {
      const sooner = {
        if: `${THERE} AND (attribute_not_exists(expires) OR expires > :at)`,
        values: { ":at": { N: String(at) } },
        set: { expires: { N: String(at) } },
      };
      return changing(
        async () => (await table.update(keyItem(id), sooner)) || (await table.get(keyItem(id))) !== undefined,
      );
    },

    removeKey: (id) => changing(async () => (await table.remove(keyItem(id), { if: THERE })) !== false),

    async putTenant(tenant, before) {
      const next = JSON.stringify(tenant);
      const there = (await table.get(tenantItem(tenant.name)))?.content?.S;
      if (!isDeclared(there, before)) return false;
      // As it was a moment ago; or as it is to be, when the answer to a first try was lost.
      const condition =
        there === undefined
          ? { if: "attribute_not_exists(pk) OR content = :next", values: { ":next": { S: next } } }
          : { if: "content = :there OR content = :next", values: { ":next": { S: next }, ":there": { S: there } } };
      const item = { ...tenantItem(tenant.name), content: { S: next } };
      return changing(async () => (await table.put(item, condition)) !== undefined);
    },

    removeTenant: (name) => changing(async () => (await table.remove(tenantItem(name), { if: THERE })) !== false),

    async used(at) {
      const writes = [...at].map(([id, time]) =>
        table.update(keyItem(id), {
          if: `${THERE} AND (attribute_not_exists(last_used) OR last_used < :at)`,
          values: { ":at": { N: String(time) } },
          set: { last_used: { N: String(time) } },
        }),
      );
      await Promise.all(writes);
    },
  };
}

function numberIn(value: Attributes[string] | undefined): number | undefined {
  return value?.N === undefined ? undefined : Number(value.N);
}
