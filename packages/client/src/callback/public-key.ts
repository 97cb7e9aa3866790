import { joined } from "../http/read-bytes.ts";

const RSA_SHA256 = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };

/** DER of `SEQUENCE { OID rsaEncryption, NULL }`, which says in an X509 key what kind it is. */
const RSA_ENCRYPTION = Uint8Array.of(
  0x30,
  0x0d,
  0x06,
  0x09,
  0x2a,
  0x86,
  0x48,
  0x86,
  0xf7,
  0x0d,
  0x01,
  0x01,
  0x01,
  0x05,
  0,
);
const SEQUENCE = 0x30;
const BIT_STRING = 0x03;

/** CryptoKey, by a name that all runtimes' type declarations know. */
export type PublicKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Keys as they stand in a PEM text. */
export interface PemBlock {
  label: string;
  der: Uint8Array<ArrayBuffer>;
}

/** The keys of a text with one PEM block or several, PKCS1 or X509. Throws a TypeError for anything else. */
export function pemBlocks(pem: string): PemBlock[] {
  const blocks = [...pem.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/g)];
  if (blocks.length === 0) throw new TypeError("there is no PEM block in the public key");
  return blocks.map(([, label = "", text = ""]) => {
    if (label === "PUBLIC KEY" || label === "RSA PUBLIC KEY") return { label, der: fromBase64(text) };
    throw new TypeError(`a public key begins with BEGIN PUBLIC KEY or BEGIN RSA PUBLIC KEY, not BEGIN ${label}`);
  });
}

export async function importKey(block: PemBlock): Promise<PublicKey> {
  try {
    return await crypto.subtle.importKey("spki", asX509(block), RSA_SHA256, false, ["verify"]);
  } catch (cause) {
    throw new TypeError(`the ${block.label} is no RSA key that can be read`, { cause });
  }
}

/** WebCrypto reads X509 alone; a PKCS1 key is the inner part of one. */
function asX509({ label, der }: PemBlock): Uint8Array<ArrayBuffer> {
  if (label === "PUBLIC KEY") return der;
  return element(SEQUENCE, joined([RSA_ENCRYPTION, element(BIT_STRING, joined([Uint8Array.of(0), der]))]));
}

function element(tag: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  return joined([Uint8Array.of(tag, ...lengthOf(content.length)), content]);
}

/** DER: one byte below 128, else the number of bytes and then those. */
function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text.replace(/\s+/g, "")), (letter) => letter.charCodeAt(0));
  } catch (cause) {
    throw new TypeError("the PEM block of the public key is no base64", { cause });
  }
}

export async function signatureFits(
  key: PublicKey,
  signature: Uint8Array<ArrayBuffer>,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  return crypto.subtle.verify(RSA_SHA256, key, signature, signed);
}
