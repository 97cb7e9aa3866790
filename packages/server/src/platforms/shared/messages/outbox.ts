/**
 * Keeps messages for receivers that may be slow or away, through crashes at any moment. At least once: a message may be
 * taken again although somebody sends it (a lease that ran out), and then only the newest lease can write.
 *
 *   add ─▶ due ──take──▶ leased ──sent──▶ gone, counted
 *           ▲ ▲             │ └───failed──▶ delayed ──┐
 *           │ └─ran out, untried                      │
 *           └─────────────────────────────────────────┘
 *
 * Whatever is not leased is dropped, and counted, when it is older than the retention, or the oldest of a receiver that
 * has too much waiting. Receivers know nothing of each other. Each adapter passes test/contracts/outbox.ts.
 */
export interface Outbox {
  /**
   * Resolves when all of them are on disk; they are due at once. One that waits already (same id and receiver) stays as
   * it is. Throws `QueueUnavailable` when they cannot be kept. On the embedded platform, what is asked of the job queue
   * in the same turn of the event loop is written in the same transaction.
   */
  add(messages: readonly OutboxMessage[]): Promise<void>;

  /** Leases of messages that are due, those due longest first; waits for none. Throws `QueueUnavailable`. */
  take(wanted: readonly Wanted[]): Promise<OutboxLease[]>;

  /**
   * Resolves when a message for one of these receivers may be due: at once when one is, early when this process adds
   * one, and in any case after about a second. Resolves at once when the signal is aborted.
   */
  wait(receivers: readonly string[], signal: AbortSignal): Promise<void>;

  /** Drops what is too old, whoever it is for. Called now and then by those who send. Throws `QueueUnavailable`. */
  sweep(): Promise<void>;

  /** Of every receiver that was ever sent to. Throws `QueueUnavailable`. */
  counts(): Promise<OutboxCounts[]>;
}

export interface OutboxMessage {
  /** Ours, and no secret; the same when it is added again. */
  id: string;
  /** The receiver's id. */
  receiver: string;
  /** JSON. Kept sealed. */
  body: string;
}

export interface Wanted {
  receiver: string;
  limit: number;
}

export interface OutboxLease {
  readonly message: OutboxMessage;
  /** Tries that failed so far. */
  readonly failures: number;
  /** Ends the lease. False when it was lost, or the message is gone: then nothing was written. Throws `QueueUnavailable`. */
  end(how: LeaseEnd): Promise<boolean>;
}

export type LeaseEnd =
  | { kind: "sent" }
  | { kind: "failed"; afterSeconds: number }
  /** Given up before it could succeed or fail: due again at once, and not counted. */
  | { kind: "untried" };

export interface OutboxCounts {
  receiver: string;
  /** Not sent and not dropped yet, and how many bytes of JSON these are. */
  waiting: number;
  waitingBytes: number;
  /** How long the oldest of them has been waiting; 0 when there is none. */
  oldestSeconds: number;
  /** Since the beginning. */
  sent: number;
  failedTries: number;
  dropped: number;
}

export interface OutboxLimits {
  retentionSeconds: number;
  /** Of one receiver. */
  maxWaiting: number;
  maxWaitingBytes: number;
}

export const outboxLimits: OutboxLimits = {
  retentionSeconds: 3 * 86_400,
  maxWaiting: 100_000,
  maxWaitingBytes: 256 * 1024 * 1024,
};

/** Nobody may try to send one message for longer than this, so that its lease is still good when it ends. */
export const SEND_SECONDS = 45;
export const OUTBOX_LEASE_SECONDS = 60;
