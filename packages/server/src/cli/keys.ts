import { createHash, createPublicKey } from "node:crypto";
import { Command, Option } from "commander";
import { KEY_BITS, NEW_KEY_BITS } from "../deliver/signing-keys.ts";
import { DATA_DIR, keyCare, localKeys } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { out, print, say } from "./terminal/output.ts";

interface KeyFlags {
  dataDir?: string;
  json?: boolean;
  pkcs1?: boolean;
  all?: boolean;
  bits?: string;
}

export function keysCommand(): Command {
  const command = new Command("keys").description(
    "the key pair that callbacks are signed with, in the local data folder or in PostgreSQL",
  );
  command
    .command("show")
    .description("fingerprint, where it is, when it was made")
    .option(...DATA_DIR)
    .option("--json", "as JSON")
    .action(show);
  command
    .command("public")
    .description("the public key as PEM (X509), for receivers")
    .option(...DATA_DIR)
    .option("--pkcs1", "as PKCS1 instead")
    .option("--all", "also the ones before it, so that a receiver takes both")
    .action(showPublic);
  command
    .command("rotate")
    .description("make a new key pair; a running server signs with it within a minute")
    .option(...DATA_DIR)
    .addOption(
      new Option("--bits <bits>", "how long the new key is")
        .choices(KEY_BITS.map(String))
        .default(String(NEW_KEY_BITS)),
    )
    .action(rotate);
  return withExamples(
    command,
    [
      ["keys show", ""],
      ["keys public > callback-key.pem", "what a receiver verifies with"],
      ["keys rotate", "a new pair"],
      ["keys rotate --bits 3072", "where 2,048 bits are not enough: signatures take three times as long"],
      ["keys public --all > callback-keys.pem", "both, while they are exchanged"],
    ],
    [
      "The private key is callback-signing-key.pem in the data folder, for its owner only, or sealed in the table signing_keys. Public keys of before stay beside it until you delete them.",
      "Receivers that fetch the key from the server need no change.",
    ],
  );
}

async function show(flags: KeyFlags): Promise<void> {
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

async function showPublic(flags: KeyFlags): Promise<void> {
  const { pair, earlier } = await localKeys(flags);
  const pems = [pair.publicKeys.x509, ...(flags.all ? earlier.map(({ pem }) => pem) : [])];
  for (const pem of pems) {
    out(flags.pkcs1 ? createPublicKey(pem).export({ type: "pkcs1", format: "pem" }).toString() : pem);
  }
}

async function rotate(flags: KeyFlags): Promise<void> {
  {
    await using care = await keyCare(flags);
    await care.rotate(Number(flags.bits));
  }
  const { pair, earlier } = await localKeys(flags);
  out(`${fingerprint(pair.publicKeys.x509)}\n`);
  const [before] = earlier;
  if (!before) return;
  say(
    `the public key of before is kept in ${before.place}: receivers should take both for a while\n` +
      "hint: lazaret keys public --all prints both; delete the old one when no callback of before can come any more\n",
  );
}

/** As ssh-keygen writes it, over the X509 form. */
function fingerprint(pem: string): string {
  const der = createPublicKey(pem).export({ type: "spki", format: "der" });
  return `SHA256:${createHash("sha256").update(der).digest("base64").replace(/=+$/, "")}`;
}
