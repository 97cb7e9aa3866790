import { callbackSigner, type SignCallback } from "../deliver/signature.ts";
import type { PublicKeys, SigningKeys } from "../deliver/signing-keys.ts";
import type { Log } from "../log.ts";

/** Signs callbacks with the key as it is now: it may be exchanged while the service runs. */
export interface Signing extends Disposable {
  sign: SignCallback;
  publicKeys(): PublicKeys;
}

/** A key that was exchanged is used from then on at the latest. */
const LOOK_EVERY_MS = 60_000;

export async function startSigning(keys: SigningKeys, log: Log, lookEveryMs: number = LOOK_EVERY_MS): Promise<Signing> {
  let pair = await keys.load();
  let sign = callbackSigner(pair.privateKey);

  async function look(): Promise<void> {
    try {
      const next = await keys.load();
      if (next.publicKeys.x509 === pair.publicKeys.x509) return;
      pair = next;
      sign = callbackSigner(next.privateKey);
      log("signing-key", { changed: true });
    } catch (error) {
      // The one we have still signs.
      log.error("signing-key", { error: error instanceof Error ? error.message : String(error) });
    }
  }

  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();
  return {
    sign: (parts) => sign(parts),
    publicKeys: () => pair.publicKeys,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
