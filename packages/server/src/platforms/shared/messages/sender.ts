import type { FittedAttributes } from "@lazaret/contract";
import type { OutboxLease } from "./outbox.ts";

/** The way to one receiver. */
export interface Sender {
  /** Messages that may be under way at once. */
  readonly atOnce: number;
  /**
   * One try, of `SEND_SECONDS` at most. What the receiver or the network does is an outcome; whatever is thrown counts as
   * a failure too. After an abort the outcome means nothing, and the message may have been received all the same.
   */
  send(posted: Posted, signal: AbortSignal): Promise<SendOutcome>;
  /** Drops every connection; what is under way fails. */
  close(): Promise<void>;
}

export interface Posted extends Pick<OutboxLease, "message" | "failures"> {
  /** Of a finding; events have none. */
  attributes?: FittedAttributes;
}

export type SendOutcome =
  | { kind: "sent"; statusCode?: number }
  /** The code is Node's or nodemailer's, or `HTTP_<status>`. */
  | { kind: "failed"; code: string; statusCode?: number };

export function failedWith(error: unknown): SendOutcome {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "EUNKNOWN";
  return { kind: "failed", code };
}
