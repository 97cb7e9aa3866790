import { CallbackRefusedError } from "../callback/refused.ts";
import type { VerifiedCallback } from "../callback/verifier.ts";

/** Yours. Lazaret waits 15 seconds; a rejection makes it try again later. */
export type CallbackHandler = (callback: VerifiedCallback) => unknown;

export interface ReceiverOptions {
  /** Larger bodies are refused. 1 MiB when not given. */
  maxBytes?: number | undefined;
  /** Told why a request was answered 400. */
  onRefused?: ((refusal: CallbackRefusedError) => void) | undefined;
  /** Told why a request was answered 500: your handler threw, or the key could not be had. Written to stderr when not given. */
  onError?: ((error: unknown) => void) | undefined;
}

/** The same on every platform: 204 taken, 400 not authentic, 500 authentic but not taken. */
export interface ReceiverAnswer {
  status: 204 | 400 | 500;
  /** For whoever looks into why; empty with 204. */
  text: string;
}

/** From the verification to the answer. Rejects only if `onRefused` or `onError` throws. */
export async function receive(
  verification: () => Promise<VerifiedCallback>,
  handler: CallbackHandler,
  options: ReceiverOptions,
): Promise<ReceiverAnswer> {
  try {
    await handler(await verification());
    return { status: 204, text: "" };
  } catch (error) {
    if (error instanceof CallbackRefusedError) {
      options.onRefused?.(error);
      return { status: 400, text: `${error.reason}: ${error.message}\n` };
    }
    (options.onError ?? writeError)(error);
    return { status: 500, text: "the callback could not be taken now\n" };
  }
}

/** A callback that fails silently is found by nobody. */
function writeError(error: unknown): void {
  console.error("a callback of Lazaret could not be taken:", error);
}

export const TEXT = "text/plain; charset=utf-8";
