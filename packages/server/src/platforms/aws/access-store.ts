import { randomUUID } from "node:crypto";
import { type AccessStore, NEVER_CHANGED } from "../../access/access-store.ts";
import { isDeclared, keyContent, keyOf, tenantOf } from "../shared/access-rows.ts";
import type { Attributes, Table } from "./table.ts";

const PARTITION = "access";
const ANY = "attribute_not_exists(pk) OR attribute_exists(pk)";
const THERE = "attribute_exists(pk)";

/**
 * One partition with an item for each key and tenant, and one for the version, which is written after them: a process that reads in
 * between reads once more.
 */
export function tableAccess(table: Table): AccessStore {
  const itemOf = (name: string): Attributes => ({ pk: { S: PARTITION }, sk: { S: name } });
  const keyItem = (id: string): Attributes => itemOf(`key#${id}`);
  const tenantItem = (name: string): Attributes => itemOf(`tenant#${name}`);

  async function changed<Outcome>(outcome: Promise<Outcome>): Promise<Outcome> {
    const value = await outcome;
    if (value !== false) await table.put({ ...itemOf("version"), version: { S: randomUUID() } }, { if: ANY });
    return value;
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
    version: async () => (await table.get(itemOf("version")))?.version?.S ?? NEVER_CHANGED,

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
      const added = table.put(item, {
        if: "attribute_not_exists(pk) OR content = :content",
        values: { ":content": item.content },
      });
      return changed(added.then((put) => put !== undefined));
    },

    endKey(id, at) {
      const sooner = table.update(keyItem(id), {
        if: `${THERE} AND (attribute_not_exists(expires) OR expires > :at)`,
        values: { ":at": { N: String(at) } },
        set: { expires: { N: String(at) } },
      });
      return changed(sooner.then(async (ended) => ended || (await table.get(keyItem(id))) !== undefined));
    },

    removeKey: (id) => changed(table.remove(keyItem(id), { if: THERE }).then((removed) => removed !== false)),

    async putTenant(tenant, before) {
      const now = JSON.stringify(tenant);
      const there = (await table.get(tenantItem(tenant.name)))?.content?.S;
      if (!isDeclared(there, before)) return false;
      // As it was a moment ago; or as it is to be, when the answer to a first try was lost.
      const condition =
        there === undefined
          ? { if: "attribute_not_exists(pk) OR content = :now", values: { ":now": { S: now } } }
          : { if: "content = :there OR content = :now", values: { ":now": { S: now }, ":there": { S: there } } };
      const put = table.put({ ...tenantItem(tenant.name), content: { S: now } }, condition);
      return changed(put.then((done) => done !== undefined));
    },

    removeTenant: (name) => changed(table.remove(tenantItem(name), { if: THERE }).then((removed) => removed !== false)),

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
