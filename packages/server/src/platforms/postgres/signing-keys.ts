import { randomUUID } from "node:crypto";
import {
  type FoundKeys,
  type KeyCare,
  makePrivatePem,
  publicKeyParameters,
  readPublicKeys,
  type SigningKeyPair,
  type SigningKeys,
  signingKeyPair,
} from "../../deliver/signing-keys.ts";
import type { Label, Sealer } from "../shared/sealed.ts";
import type { StoreParts } from "./database/store-parts.ts";

/** @internal a test puts another key there */
export const CALLBACK_KEY = "callback";

/** Rows of public keys of before have this before their names. */
const EARLIER = `${CALLBACK_KEY} before `;
/** So often somebody else may exchange the key while we do. */
const ROTATION_TRIES = 5;

type Parts = Pick<StoreParts, "connections" | "sealer" | "schema">;

/** The key pair in the database: the private key sealed, the public ones under the names of the spec. */
export function postgresKeys(parts: Parts, stackName: string): SigningKeys {
  const { connections, sealer, schema: s } = parts;

  async function textOf(name: string): Promise<string | undefined> {
    const sql = `SELECT value FROM ${s}.parameters WHERE name = $1`;
    return (await connections.query<{ value: string }>(sql, [name]))[0]?.value;
  }

  return {
    async load() {
      if (!(await currentKey(parts))) await addKey(parts, await makePrivatePem());
      // What is there now: another process may have been faster.
      const pair = readPair(await currentKey(parts), sealer);
      const published = publicKeyParameters(stackName, pair.publicKeys);
      await connections.query(
        `INSERT INTO ${s}.parameters AS kept (name, value)
         SELECT name, value FROM unnest($1::text[], $2::text[]) AS given (name, value) ORDER BY name
         ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE kept.value <> excluded.value`,
        [published.map(({ name }) => name), published.map(({ value }) => value)],
      );
      return pair;
    },
    published: () => readPublicKeys(stackName, textOf),
  };
}

interface KeyRow {
  name: string;
  madeAt: number;
  sealed: Uint8Array;
}

/** The same for an operator. */
export function postgresKeyCare(parts: Parts, stackName: string): KeyCare {
  const { connections, sealer, schema: s } = parts;
  const placeOf = (name: string): string => `${s.replaceAll('"', "")}.signing_keys, ${name}`;
  // The public key of before is kept in the statement that exchanges it, and nothing is done where somebody else was faster.
  const exchange = `WITH exchanged AS (
      UPDATE ${s}.signing_keys SET sealed = $2, made_at = ${s}.now_ms() WHERE name = $1 AND sealed = $3 RETURNING 1
    )
    INSERT INTO ${s}.signing_keys (name, made_at, sealed) SELECT $4, ${s}.now_ms(), $5 FROM exchanged RETURNING name`;

  async function earlierKeys(): Promise<FoundKeys["earlier"]> {
    const rows = await connections.query<KeyRow>(
      `${keySql(s)} WHERE starts_with(name, $1) ORDER BY made_at DESC, name`,
      [EARLIER],
    );
    return rows.flatMap(({ name, sealed }) => {
      const pem = sealer.unseal(sealed, labelOf(name));
      return pem === undefined ? [] : { place: placeOf(name), pem };
    });
  }

  async function exchanged(current: KeyRow, pem: string): Promise<boolean> {
    const { x509 } = readPair(current, sealer).publicKeys;
    const earlier = `${EARLIER}${randomUUID()}`;
    const rows = await connections.query(exchange, [
      CALLBACK_KEY,
      sealer.seal(pem, labelOf(CALLBACK_KEY)),
      current.sealed,
      earlier,
      sealer.seal(x509, labelOf(earlier)),
    ]);
    return rows.length > 0;
  }

  return {
    async find() {
      const row = await currentKey(parts);
      if (!row) return undefined;
      const { name, madeAt } = row;
      const pair = readPair(row, sealer);
      return { kept: "row", place: placeOf(name), madeAt: new Date(madeAt), pair, earlier: await earlierKeys() };
    },

    async rotate(bits) {
      const pem = await makePrivatePem(bits);
      const keys = postgresKeys(parts, stackName);
      for (let tries = 0; tries < ROTATION_TRIES; tries += 1) {
        const current = await currentKey(parts);
        const done = current ? await exchanged(current, pem) : await addKey(parts, pem);
        if (done) return void (await keys.load());
      }
      throw new Error("cannot exchange the signing key: others do so at this moment");
    },
  };
}

async function currentKey({ connections, schema }: Parts): Promise<KeyRow | undefined> {
  const [found] = await connections.query<KeyRow>(`${keySql(schema)} WHERE name = $1`, [CALLBACK_KEY]);
  return found;
}

/** False when there is one. */
async function addKey({ connections, sealer, schema }: Parts, pem: string): Promise<boolean> {
  const rows = await connections.query(
    `INSERT INTO ${schema}.signing_keys (name, made_at, sealed) VALUES ($1, ${schema}.now_ms(), $2)
     ON CONFLICT DO NOTHING RETURNING name`,
    [CALLBACK_KEY, sealer.seal(pem, labelOf(CALLBACK_KEY))],
  );
  return rows.length > 0;
}

function keySql(schema: string): string {
  return `SELECT name, made_at AS "madeAt", sealed FROM ${schema}.signing_keys`;
}

function labelOf(name: string): Label {
  return ["key", name];
}

function readPair(row: KeyRow | undefined, sealer: Sealer): SigningKeyPair {
  const pem = row && sealer.unseal(row.sealed, labelOf(CALLBACK_KEY));
  if (pem === undefined) throw new Error("cannot read the signing key in the job database: it was changed");
  try {
    return signingKeyPair(pem);
  } catch {
    throw new Error("cannot use the signing key in the job database: it is not a private RSA key");
  }
}
