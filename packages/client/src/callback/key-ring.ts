import { readBytes } from "../http/read-bytes.ts";
import { timeLimit } from "../http/time-limit.ts";
import { importKey, type PemBlock, type PublicKey, pemBlocks, signatureFits } from "./public-key.ts";

/** The keys a signature may be of. */
export interface KeyRing {
  /** Throws when the keys cannot be had, which says nothing about the signature. */
  fits(signature: Uint8Array<ArrayBuffer>, signed: Uint8Array<ArrayBuffer>): Promise<boolean>;
}

export interface KeyRingOptions {
  given: readonly PemBlock[];
  keyUrl: string | undefined;
  fetch: typeof fetch;
  now: () => number;
}

/** Keys that were fetched are asked for again after this time, so that a key which was withdrawn is forgotten. */
const FETCHED_FOR_MS = 60 * 60 * 1000;
/** A signature that fits no key may be of a newer one; but anybody can send such, so not each asks for it. */
const FETCH_AGAIN_MS = 10_000;
const FETCH_TIMEOUT_MS = 10_000;
const PEM_MAX_BYTES = 64 * 1024;

export function keyRing({ given, keyUrl, fetch, now }: KeyRingOptions): KeyRing {
  let own: Promise<PublicKey[]> | undefined;
  let fetched: { keys: Promise<PublicKey[]>; at: number } | undefined;

  async function anyFits(keys: readonly PublicKey[], signature: Bytes, signed: Bytes): Promise<boolean> {
    const answers = await Promise.all(keys.map((key) => signatureFits(key, signature, signed)));
    return answers.includes(true);
  }

  /** Callers at the same time share one fetch; one that failed is not kept. */
  function fetchedKeys(url: string, maxAgeMs: number): Promise<PublicKey[]> {
    if (fetched && now() - fetched.at < maxAgeMs) return fetched.keys;
    const before = fetched;
    const entry = { keys: fetchKeys(url, fetch), at: now() };
    fetched = entry;
    entry.keys.catch(() => {
      if (fetched === entry) fetched = before;
    });
    return entry.keys;
  }

  return {
    async fits(signature, signed) {
      own ??= Promise.all(given.map(importKey));
      if (await anyFits(await own, signature, signed)) return true;
      if (keyUrl === undefined) return false;
      const known = await fetchedKeys(keyUrl, FETCHED_FOR_MS);
      if (await anyFits(known, signature, signed)) return true;
      const newer = await fetchedKeys(keyUrl, FETCH_AGAIN_MS);
      return newer !== known && anyFits(newer, signature, signed);
    },
  };
}

type Bytes = Uint8Array<ArrayBuffer>;

async function fetchKeys(url: string, fetch: KeyRingOptions["fetch"]): Promise<PublicKey[]> {
  const limit = timeLimit(FETCH_TIMEOUT_MS, undefined);
  try {
    const response = await fetch(url, { signal: limit.signal, redirect: "error" });
    const pem = await readBytes(response.body, PEM_MAX_BYTES);
    if (response.status !== 200) throw new Error(`answered ${response.status}`);
    return await Promise.all(pemBlocks(new TextDecoder().decode(pem)).map(importKey));
  } catch (cause) {
    const reason = cause instanceof Error ? `: ${cause.message}` : "";
    throw new Error(`cannot fetch the public key of callbacks from ${url}${reason}`, { cause });
  } finally {
    limit.end();
  }
}
