import type { Verdict } from "../model/verdict.ts";
import { type Clamd, ClamdExchanged } from "./clamd/clamd.ts";

/** What is known of a file that is sent to clamd before it may be scanned. */
export interface Ready extends PromiseWithResolvers<void> {
  /** The ways of packing whose members are left to clamd's own unpacker. */
  left: readonly string[];
}

export function openEnd(): Ready {
  const ready: Ready = { ...Promise.withResolvers<void>(), left: [] };
  // Nobody may be waiting for it.
  ready.promise.catch(() => {});
  return ready;
}

/** clamd is not to scan the file as a whole; its members have been shown to it, or there is no hope for the file. */
export class Withheld extends Error {
  constructor() {
    super("the file is not shown as a whole");
    this.name = "Withheld";
  }
}

/** For `catch`: what clamd has said came from one that is gone, so that it has to be asked once more, for every part of the file. */
export function ifExchanged(error: unknown): "exchanged" {
  if (error instanceof ClamdExchanged) return "exchanged";
  throw error;
}

/**
 * What clamd says to the file as it is. The end of it is sent only when it is known that clamd may have it all. Where clamd was not asked it
 * has nothing to say.
 */
export async function wholeFile(
  clamd: Clamd,
  bytes: AsyncIterable<Uint8Array>,
  { ready, signal }: { ready: Ready; signal: AbortSignal },
): Promise<Verdict> {
  try {
    const held = heldOpen(bytes, ready.promise);
    return await (clamd.scanLeaving?.(held, () => ready.left, signal) ?? clamd.scan(held, signal));
  } catch (error) {
    if (error instanceof Withheld) return { kind: "clean" };
    throw error;
  }
}

async function* heldOpen(bytes: AsyncIterable<Uint8Array>, ready: Promise<void>): AsyncGenerator<Uint8Array> {
  yield* bytes;
  await ready;
}
