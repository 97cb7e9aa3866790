/** Why a request is not taken for a callback of Lazaret. */
export type RefusalReason =
  /** X-Signature or X-Timestamp is not there. */
  | "missing_header"
  /** X-Timestamp is no time. */
  | "bad_timestamp"
  /** X-Timestamp is too far from now, either way. */
  | "old_timestamp"
  /** X-Signature does not fit the time, the callback_url, the body and the key together. */
  | "bad_signature"
  /** The body was parsed before it came here; what was signed are its bytes. */
  | "parsed_body"
  /** The body is larger than the receiver takes. */
  | "too_big"
  /** Signed by the key, but no scan result. */
  | "malformed_body";

/** The request is not to be believed. */
export class CallbackRefusedError extends Error {
  override readonly name = "CallbackRefusedError";
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
