import { type KeyObject, sign } from "node:crypto";
import { promisify } from "node:util";
import type { Log } from "../log.ts";
import type { PublicKeys, SigningKeys } from "./signing-keys.ts";

/** What a signature is over. */
export interface SignedParts {
  /** The value of X-Timestamp: milliseconds since 1970. */
  timestamp: string;
  /** callback_url as it was submitted, not as a parser would write it. */
  url: string;
  /** Stands before the URL when there is one. */
  tenantId?: string;
  /** The very bytes that are sent. */
  body: Uint8Array;
}

/** Answers the value of X-Signature. */
export type SignCallback = (parts: SignedParts) => Promise<string>;

const signInPool = promisify<string, Uint8Array, KeyObject, Buffer>(sign);

/**
 * RSA (PKCS#1 v1.5) with SHA-256, in lower-case hex. With 2048 bits that is about 0.5 ms of a core, and 3.5 on some ARM
 * processors (Neoverse N1), three times as much with 3072: it is left to Node's thread pool.
 */
export function callbackSigner(privateKey: KeyObject): SignCallback {
  return async (parts) => {
    const signature = await signInPool("sha256", signedBytes(parts), privateKey);
    return signature.toString("hex");
  };
}

export function signedBytes({ timestamp, tenantId, url, body }: SignedParts): Uint8Array {
  const head = tenantId === undefined ? [timestamp, url] : [timestamp, tenantId, url];
  return Buffer.concat([Buffer.from(`${head.join(".")}.`), body]);
}

/** Signs callbacks with the key as it is now: it may be exchanged while the service runs. */
export interface Signing extends Disposable {
  sign: SignCallback;
  publicKeys(): PublicKeys;
}

export async function startSigning(keys: SigningKeys, log: Log, reloadEveryMs: number): Promise<Signing> {
  let pair = await keys.load();
  let sign = callbackSigner(pair.privateKey);

  async function reload(): Promise<void> {
    try {
      const next = await keys.load();
      if (next.publicKeys.x509 === pair.publicKeys.x509) return;
      pair = next;
      sign = callbackSigner(next.privateKey);
      log("signing_key", { changed: true });
    } catch (error) {
      // The one we have still signs.
      log.error("signing_key", { error: error instanceof Error ? error.message : String(error) });
    }
  }

  const timer = setInterval(() => void reload(), reloadEveryMs);
  timer.unref();
  return {
    sign: (parts) => sign(parts),
    publicKeys: () => pair.publicKeys,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
