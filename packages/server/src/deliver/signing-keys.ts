import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";

/**
 * Where the key pair of an installation is kept. Called at the start and every minute, when callbacks are signed.
 *
 * The first call of all makes the pair; every later one, in this or another process, answers the same until an operator
 * exchanges it, also when several are first at once. By the time it answers, the public keys can be read in the parameter store under the names
 * of `publicKeyParameters`. Throws when the key cannot be read or kept, and never replaces one that is there. Each adapter
 * passes test/contracts/signing-keys.ts.
 */
export interface SigningKeys {
  load(): Promise<SigningKeyPair>;
  /** What receivers read in the parameter store, without reading the private key. Undefined before the first `load`. */
  published(): Promise<PublicKeys | undefined>;
}

export interface SigningKeyPair {
  privateKey: KeyObject;
  publicKeys: PublicKeys;
}

/** The one public key in both forms, as PEM. */
export interface PublicKeys {
  pkcs1: string;
  x509: string;
}

/** The pair as an operator handles it. */
export interface KeyCare {
  /** Makes nothing; undefined when there is no pair. */
  find(): Promise<FoundKeys | undefined>;
  /**
   * Exchanges the pair for a new one, or makes the first. The old public key is kept, so that receivers can take both for a
   * while; at no moment is there no private key. A running server has the new pair within a minute.
   */
  rotate(bits: number): Promise<void>;
}

export interface FoundKeys {
  pair: SigningKeyPair;
  madeAt: Date;
  /** What the keys are kept in. */
  kept: "file" | "row";
  /** Of the private key: the file's path, or table and name of the row. */
  place: string;
  /** PEM (X509) of the public keys before this one, newest first. */
  earlier: readonly { place: string; pem: string }[];
}

/** How long a new key may be, in bits, for an operator who chooses. */
export const KEY_BITS: readonly number[] = [2048, 3072, 4096];
/** NIST (SP 800-57) has 2,048 until 2030, and a signature with 3,072 takes three times as long. */
export const NEW_KEY_BITS = 2048;

/** A new private key, as PEM (PKCS#8). Takes a while, though not on this thread. */
export async function makePrivatePem(bits: number = NEW_KEY_BITS): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: bits });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** Throws when the text is not a private RSA key; the error does not show what it is. */
export function signingKeyPair(privatePem: string): SigningKeyPair {
  const privateKey = createPrivateKey(privatePem);
  if (privateKey.asymmetricKeyType !== "rsa") throw new Error("cannot sign with a key that is not RSA");
  const publicKey = createPublicKey(privateKey);
  const pem = (type: "pkcs1" | "spki"): string => publicKey.export({ type, format: "pem" }).toString();
  return { privateKey, publicKeys: { pkcs1: pem("pkcs1"), x509: pem("spki") } };
}

/** The public keys by what is in the parameter store. */
export async function readPublicKeys(
  stackName: string,
  read: (name: string) => Promise<string | undefined>,
): Promise<PublicKeys | undefined> {
  const names = publicKeyParameters(stackName, { pkcs1: "", x509: "" }).map(({ name }) => name);
  const [pkcs1, x509] = await Promise.all(names.map(read));
  return pkcs1 === undefined || x509 === undefined ? undefined : { pkcs1, x509 };
}

/** The names of the spec, by which receivers find the public key in a parameter store. */
export function publicKeyParameters(stackName: string, keys: PublicKeys): readonly { name: string; value: string }[] {
  return [
    { name: `/scanner/${stackName}/PublicKeyPEMPKCS1`, value: keys.pkcs1 },
    { name: `/scanner/${stackName}/PublicKeyPEMX509`, value: keys.x509 },
  ];
}
