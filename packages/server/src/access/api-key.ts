import { hash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * The secret of a key: `lz_`, its public id, and a random part that ends with a checksum over all before it.
 *
 *   lz_k7f3q2ab_Xy3…32…9a4dTq0
 *
 * The id finds the key; the checksum tells a mistyped secret, or a text in somebody's repository, from one of ours.
 */
const SECRET = /^lz_([a-z2-7]{8})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

const ID = "abcdefghijklmnopqrstuvwxyz234567";
const TEXT = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

export interface NewSecret {
  id: string;
  secret: string;
  digest: string;
}

export function newSecret(): NewSecret {
  const id = randomText(ID, 8);
  const front = `lz_${id}_${randomText(TEXT, 32)}`;
  const secret = `${front}${checksum(front)}`;
  return { id, secret, digest: secretDigest(secret) };
}

/** All that is kept of a secret. It has 190 random bits: nobody finds it by trying, however fast that is. */
export function secretDigest(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** `mistyped` begins like one of ours, and cannot be one. */
export function readSecret(text: string): { kind: "ours"; id: string } | { kind: "mistyped" | "other" } {
  if (!text.startsWith("lz_")) return { kind: "other" };
  const [, id = "", , sum] = SECRET.exec(text) ?? [];
  return sum !== undefined && checksum(text.slice(0, -sum.length)) === sum
    ? { kind: "ours", id }
    : { kind: "mistyped" };
}

function randomText(alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}

function checksum(text: string): string {
  let rest = crc32(text);
  let sum = "";
  for (let place = 0; place < 6; place += 1) {
    sum = `${TEXT[rest % TEXT.length]}${sum}`;
    rest = Math.floor(rest / TEXT.length);
  }
  return sum;
}
