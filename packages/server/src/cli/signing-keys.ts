import { createHash, createPublicKey } from "node:crypto";
import { Command, Option } from "commander";
import { KEY_BITS, NEW_KEY_BITS } from "../deliver/signing-keys.ts";
import { record } from "./audit.ts";
import { DATA_DIR, keyCare, localKeys, localStore } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { out, print, say } from "./terminal/output.ts";

export interface KeyPairFlags {
  dataDir?: string;
  json?: boolean;
  pkcs1?: boolean;
  all?: boolean;
  bits?: string;
}

export function signingKeysCommand(): Command {
  const command = new Command("signing-keys").description(
    "the key pair that callbacks are signed with, in the local data folder or in PostgreSQL",
  );
  command
    .command("show")
    .description("fingerprint, where it is, when it was made")
    .option(...DATA_DIR)
    .option("--json", "as JSON")
    .action(showKeyPair);
  command
    .command("public")
    .description("the public key as PEM (X509), for receivers")
    .option(...DATA_DIR)
    .option("--pkcs1", "as PKCS1 instead")
    .option("--all", "also the earlier ones, so that a receiver accepts both")
    .action(showPublicKey);
  command
    .command("rotate")
    .description("make a new key pair; a running server signs with it within a minute")
    .option(...DATA_DIR)
    .addOption(bitsOption())
    .action(rotateKeyPair);
  return withExamples(
    command,
    [
      ["signing-keys show", ""],
      ["signing-keys public > callback-key.pem", "what a receiver verifies with"],
      ["signing-keys rotate", "a new pair"],
      ["signing-keys rotate --bits 3072", "where 2,048 bits are not enough: signatures take three times as long"],
      ["signing-keys public --all > callback-keys.pem", "both, while they are exchanged"],
    ],
    [
      "The private key is callback-signing-key.pem in the data folder, for its owner only, or sealed in the table signing_keys. Earlier public keys stay beside it until you delete them.",
      "Receivers that fetch the key from the server need no change.",
    ],
  );
}

export async function showKeyPair(flags: KeyPairFlags): Promise<void> {
  const { kept, place, madeAt, pair, earlier } = await localKeys(flags);
  const facts = {
    fingerprint: fingerprint(pair.publicKeys.x509),
    kind: `RSA ${pair.privateKey.asymmetricKeyDetails?.modulusLength}`,
    made: madeAt.toISOString(),
    [kept]: place,
    earlier: earlier.map((key) => ({ fingerprint: fingerprint(key.pem), [kept]: key.place })),
  };
  if (flags.json) return print(facts);
  const { earlier: _, ...own } = facts;
  for (const [name, value] of Object.entries(own)) out(`${name.padEnd(11)}  ${value}\n`);
  for (const key of earlier) out(`${"earlier".padEnd(11)}  ${fingerprint(key.pem)}  ${key.place}\n`);
}

export async function showPublicKey(flags: KeyPairFlags): Promise<void> {
  const { pair, earlier } = await localKeys(flags);
  const pems = [pair.publicKeys.x509, ...(flags.all ? earlier.map(({ pem }) => pem) : [])];
  for (const pem of pems) {
    out(flags.pkcs1 ? createPublicKey(pem).export({ type: "pkcs1", format: "pem" }).toString() : pem);
  }
}

export async function rotateKeyPair(flags: KeyPairFlags): Promise<void> {
  {
    // First: where keys cannot be rotated nothing is written down that was never done.
    await using care = await keyCare(flags);
    await using store = await localStore(flags, { make: true });
    await record(store.audit, { what: "signing-keys.rotate", on: "callback", details: { bits: Number(flags.bits) } });
    await care.rotate(Number(flags.bits));
  }
  const { pair, earlier } = await localKeys(flags);
  out(`${fingerprint(pair.publicKeys.x509)}\n`);
  const [before] = earlier;
  if (!before) return;
  say(
    `the public key of before is kept in ${before.place}: receivers should take both for a while\n` +
      "hint: lazaret signing-keys public --all prints both; delete the old one when no callback of before can come any more\n",
  );
}

export function bitsOption(): Option {
  return new Option("--bits <bits>", "how long the new key is")
    .choices(KEY_BITS.map(String))
    .default(String(NEW_KEY_BITS));
}

/** As ssh-keygen writes it, over the X509 form. */
function fingerprint(pem: string): string {
  const der = createPublicKey(pem).export({ type: "spki", format: "der" });
  return `SHA256:${createHash("sha256").update(der).digest("base64").replace(/=+$/, "")}`;
}
