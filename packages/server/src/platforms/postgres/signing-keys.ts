import {
  makePrivatePem,
  publicKeyParameters,
  readPublicKeys,
  type SigningKeyPair,
  type SigningKeys,
  signingKeyPair,
} from "../../deliver/signing-keys.ts";
import type { StoreParts } from "./database/store-parts.ts";

/** @internal a test puts another key there */
export const CALLBACK_KEY = "callback";

type Parts = Pick<StoreParts, "connections" | "sealer" | "schema">;

/** The key pair in the database: the private key sealed, the public ones under the names of the spec. */
export function postgresKeys({ connections, sealer, schema: s }: Parts, stackName: string): SigningKeys {
  async function sealedKey(): Promise<Uint8Array | undefined> {
    const [found] = await connections.query<{ sealed: Buffer }>(
      `SELECT sealed FROM ${s}.signing_keys WHERE name = $1`,
      [CALLBACK_KEY],
    );
    return found?.sealed;
  }

  /** What is answered is what is there now: another process may have been faster. */
  async function makeKey(): Promise<Uint8Array | undefined> {
    await connections.query(
      `INSERT INTO ${s}.signing_keys (name, made_at, sealed) VALUES ($1, ${s}.now_ms(), $2) ON CONFLICT DO NOTHING`,
      [CALLBACK_KEY, sealer.seal(await makePrivatePem(), ["key", CALLBACK_KEY])],
    );
    return await sealedKey();
  }

  function readPair(sealed: Uint8Array | undefined): SigningKeyPair {
    const pem = sealed && sealer.unseal(sealed, ["key", CALLBACK_KEY]);
    if (pem === undefined) throw new Error("cannot read the signing key in the job database: it was changed");
    try {
      return signingKeyPair(pem);
    } catch {
      throw new Error("cannot use the signing key in the job database: it is not a private RSA key");
    }
  }

  async function textOf(name: string): Promise<string | undefined> {
    const sql = `SELECT value FROM ${s}.parameters WHERE name = $1`;
    return (await connections.query<{ value: string }>(sql, [name]))[0]?.value;
  }

  return {
    async load() {
      const pair = readPair((await sealedKey()) ?? (await makeKey()));
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
