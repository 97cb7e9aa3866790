import {
  type CipherGCM,
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
  randomFillSync,
} from "node:crypto";
import { DEFAULT_TENANT, type Trace } from "../../model/tenant.ts";

/** Closes what clients sent, so that nothing of it can be read without the key. */
export interface Sealer {
  /** The label says what it is and whose. */
  seal(text: string, label: Label): Uint8Array;
  /** Undefined when it was changed or cut, or sealed with another key or label. */
  unseal(sealed: Uint8Array, label: Label): string | undefined;
  /** The same for the same text, and shows nothing of it. For lookups. Those `of` one tenant are never those of another. */
  digest(text: string, of?: string): Uint8Array;
  /** Does now what the next `seal` would have to do first, for who has time. */
  prepare(): void;
  /** The same for two sealers with the same key. */
  readonly keyCheck: Uint8Array;
  /** A secret of its own, from which nothing else that is derived from the key can be told. */
  readonly consoleSecret: Uint8Array;
}

export type Label = readonly [
  what: "job" | "changes" | "reason" | "report" | "message" | "failure" | "key" | "bookmark" | "history" | "finding",
  id: string,
];

/** First byte of everything sealed, so that another format can follow. Then salt, nonce, tag and the closed text. */
const FORMAT = 1;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NONCE_AT = 1 + SALT_BYTES;
const TAG_AT = NONCE_AT + NONCE_BYTES;
const TEXT_AT = TAG_AT + TAG_BYTES;

/** A key for so many seals; random nonces must not come near the number at which they repeat (2^32 is the limit). */
const SEALS_PER_SALT = 2 ** 24;
const KEYS_AT_HAND = 256;
/** Drawn together, and each used once: one by one they take as long as the sealing. */
const NONCES_AT_HAND = 256;

/** Used once. */
interface Seal {
  salt: Buffer;
  nonce: Buffer;
  cipher: CipherGCM;
}

/**
 * AES-256-GCM with random nonces. The key is derived from the installation's key and a salt that each process draws
 * anew, and again after many seals.
 */
export function sealer(secretKey: Uint8Array): Sealer {
  // As a key object: deriving with raw bytes takes five times as long.
  const root = createSecretKey(secretKey);
  const keys = new Map<string, KeyObject>();
  let salt = randomBytes(SALT_BYTES);
  let seals = 0;
  const nonces = Buffer.alloc(NONCES_AT_HAND * NONCE_BYTES);
  let usedNonces = nonces.length;
  let prepared: Seal | undefined;

  function derived(purpose: string, message: Uint8Array): Buffer {
    return createHmac("sha256", root).update(`lazaret ${purpose}\0`).update(message).digest();
  }

  function keyOf(saltOfKey: Buffer): KeyObject {
    const name = saltOfKey.toString("latin1");
    const known = keys.get(name);
    if (known) return known;
    if (keys.size === KEYS_AT_HAND) keys.clear();
    const key = createSecretKey(derived("seal", saltOfKey));
    keys.set(name, key);
    return key;
  }

  function freshNonce(): Buffer {
    if (usedNonces === nonces.length) {
      randomFillSync(nonces);
      usedNonces = 0;
    }
    usedNonces += NONCE_BYTES;
    return nonces.subarray(usedNonces - NONCE_BYTES, usedNonces);
  }

  function nextSeal(): Seal {
    seals += 1;
    if (seals % SEALS_PER_SALT === 0) salt = randomBytes(SALT_BYTES);
    const nonce = freshNonce();
    return { salt, nonce, cipher: createCipheriv("aes-256-gcm", keyOf(salt), nonce) };
  }

  return {
    prepare() {
      prepared ??= nextSeal();
    },

    seal(text, label) {
      const { salt, nonce, cipher } = prepared ?? nextSeal();
      prepared = undefined;
      cipher.setAAD(bytesOf(label));
      // With GCM there is no last block: nothing comes from `final`.
      const closed = cipher.update(text, "utf8");
      cipher.final();
      const sealed = Buffer.allocUnsafe(TEXT_AT + closed.length);
      sealed[0] = FORMAT;
      sealed.set(salt, 1);
      sealed.set(nonce, NONCE_AT);
      sealed.set(cipher.getAuthTag(), TAG_AT);
      sealed.set(closed, TEXT_AT);
      return sealed;
    },

    unseal(sealed, label) {
      if (sealed.length < TEXT_AT || sealed[0] !== FORMAT) return undefined;
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length);
      const key = keyOf(bytes.subarray(1, NONCE_AT));
      const nonce = bytes.subarray(NONCE_AT, TAG_AT);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(bytesOf(label));
      decipher.setAuthTag(bytes.subarray(TAG_AT, TEXT_AT));
      const text = decipher.update(bytes.subarray(TEXT_AT));
      try {
        decipher.final();
        return text.toString();
      } catch {
        return undefined;
      }
    },

    // As UTF-16: two different lone surrogates would be the same in UTF-8.
    digest: (text, of) => derived(of === undefined ? "digest" : `digest of ${of}`, Buffer.from(text, "utf16le")),
    keyCheck: derived("check", Buffer.alloc(0)),
    consoleSecret: derived("console sessions", Buffer.alloc(0)),
  };
}

/** What a trace id is found by. That of the default tenant is what it was before there were others. */
export function traceDigest(sealer: Sealer, { tenant, traceId }: Trace): Uint8Array {
  return sealer.digest(traceId, tenant === DEFAULT_TENANT ? undefined : tenant);
}

function bytesOf([what, id]: Label): Buffer {
  return Buffer.from(`${what}\0${id}`);
}
