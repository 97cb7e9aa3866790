import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { glue, noise, u32 } from "../../../test/fixtures/corpus/container.ts";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { mayHoldMembers } from "../sieve.ts";
import { ciphertext } from "./ciphertext.ts";

const hex = (digits: string): Buffer => Buffer.from(digits, "hex");
const secret = noise(300);
const base64 = (bytes: number): string => noise(bytes).toString("base64").replaceAll("=", "");

const encrypted: Record<string, Buffer> = {
  age: glue(`age-encryption.org/v1\n-> X25519 ${base64(32)}\n${base64(32)}\n--- ${base64(32)}\n`, secret),
  "OpenSSL's enc": glue("Salted__", secret),
  "KeePass 1": glue(hex("03d9a29a65fb4bb5"), secret),
  "KeePass 2": glue(hex("03d9a29a67fb4bb5"), secret),
  "Password Safe": glue("PWS3", secret),
  "AES Crypt": glue("AES\x02\0", secret),
  "AES Crypt of the first version": glue("AES\0\x07", secret),
  AxCrypt: glue(hex("c0b9072e4f93f146a015792ca1d9e821"), secret),
  "ansible-vault": glue("$ANSIBLE_VAULT;1.1;AES256\n", `${secret.toString("hex")}\n`),
  "git-crypt": glue("\0GITCRYPT\0", secret),
  Vim: glue("VimCrypt~03!", secret),
  scrypt: glue("scrypt\0\x0e", u32(8), secret),
  rclone: glue("RCLONE\0\0", secret),
  "a message with rights managed": glue(hex("76e80460c411e386"), secret),
};

describe("a file that a program encrypted, and that says so, is encrypted", () => {
  for (const [name, content] of Object.entries(encrypted)) {
    test(name, async () => {
      assert.equal((await openContainer(ciphertext, content))?.outcome, "encrypted");
      assert.equal(mayHoldMembers(memoryBlob(content)), true);
    });
  }
});

const others: Record<string, string> = {
  "a text about OpenSSL":
    "Salted__ is what OpenSSL writes in front of the salt, as everybody can see in a hex dump of it.\n",
  "a text about age": "age-encryption.org/v1 is the first line of each such file, and recipients follow.\n",
  "a text about Vim": "VimCrypt~03! is the mark of blowfish2.\n",
  "a text in capitals": "AES is a cipher.\n".repeat(9),
};

for (const [name, content] of Object.entries(others)) {
  test(`${name} is no such file`, async () => {
    assert.equal(await openContainer(ciphertext, Buffer.from(content)), undefined);
  });
}
