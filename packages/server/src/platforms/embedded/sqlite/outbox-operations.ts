import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import type { OutboxCounts, OutboxLimits, OutboxMessage, Wanted } from "../../shared/messages/outbox.ts";
import type { Label, Sealer } from "../../shared/sealed.ts";
import { operation } from "./transaction.ts";

export interface LeasedMessage {
  message: OutboxMessage;
  failures: number;
  token: string;
}

/** Whose lease it is. Nothing is written for a lease that was lost. */
interface Holder {
  receiver: string;
  id: string;
  token: string;
}

interface Row {
  seq: number;
  receiver: string;
  id: string;
  bytes: number;
  failures: number;
  sealed: Uint8Array;
}

type Size = Pick<Row, "receiver" | "bytes">;

/** So that no other process waits long for its turn to write, however much is too old. */
const SWEPT_AT_ONCE = 1000;
const NOT_LEASED = "(lease_token IS NULL OR due_at <= $now)";

/** What the fan-out asks. */
export function outboxOperations(db: DatabaseSync, sealer: Sealer) {
  const add = db.prepare(
    `INSERT INTO outbox (receiver, id, added_at, since, due_at, bytes, sealed)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (receiver, id) DO NOTHING`,
  );
  const grow = db.prepare(
    `INSERT INTO outbox_counts (receiver, waiting, bytes) VALUES (?, 1, ?)
     ON CONFLICT (receiver) DO UPDATE SET waiting = waiting + 1, bytes = bytes + excluded.bytes
     RETURNING waiting, bytes`,
  );
  const shrink = {
    sent: db.prepare(
      "UPDATE outbox_counts SET waiting = waiting - 1, bytes = bytes - ?, sent = sent + 1 WHERE receiver = ?",
    ),
    dropped: db.prepare(
      "UPDATE outbox_counts SET waiting = waiting - 1, bytes = bytes - ?, dropped = dropped + 1 WHERE receiver = ?",
    ),
  };
  const oldest = db.prepare(
    `SELECT seq, receiver, bytes FROM outbox WHERE receiver = $receiver AND ${NOT_LEASED}
     ORDER BY added_at, seq LIMIT 1`,
  );
  const tooOld = db.prepare(
    `SELECT seq, receiver, bytes FROM outbox WHERE receiver = $receiver AND added_at <= $before AND ${NOT_LEASED}
     LIMIT $limit`,
  );
  const remove = db.prepare("DELETE FROM outbox WHERE seq = ?");
  const due = db.prepare(
    `SELECT seq, receiver, id, bytes, failures, sealed FROM outbox WHERE receiver = ? AND due_at <= ?
     ORDER BY due_at, seq LIMIT CAST(? AS INTEGER)`,
  );
  const lease = db.prepare("UPDATE outbox SET lease_token = ?, since = ?, due_at = ? WHERE seq = ?");
  const held = "WHERE receiver = ? AND id = ? AND lease_token = ?";
  const sent = db.prepare(`DELETE FROM outbox ${held} RETURNING bytes`);
  const failed = db.prepare(
    `UPDATE outbox SET lease_token = NULL, failures = failures + 1, since = ?, due_at = ? ${held}`,
  );
  const countFailure = db.prepare("UPDATE outbox_counts SET failed_tries = failed_tries + 1 WHERE receiver = ?");
  const untried = db.prepare(`UPDATE outbox SET lease_token = NULL, since = ?, due_at = ? ${held}`);
  const nextDue = db.prepare(
    `SELECT min((SELECT min(due_at) FROM outbox WHERE receiver = value)) AS dueAt FROM json_each(?)`,
  );
  const receivers = db.prepare("SELECT receiver FROM outbox_counts WHERE waiting > 0");
  /** As `ClockCare` does for jobs: what began in the future begins now. */
  const rebaseWait = db.prepare(
    `UPDATE outbox SET since = $now, due_at = $now + (due_at - since)
     WHERE receiver = $receiver AND due_at > $now AND since > $now`,
  );
  const rebaseAge = db.prepare("UPDATE outbox SET added_at = $now WHERE receiver = $receiver AND added_at > $now");
  const counts = db.prepare(
    `SELECT receiver, waiting, bytes AS waitingBytes, sent, failed_tries AS failedTries, dropped,
       max(0, coalesce(($now - (SELECT min(added_at) FROM outbox WHERE receiver = counted.receiver)) / 1000.0, 0))
         AS oldestSeconds
     FROM outbox_counts AS counted ORDER BY receiver`,
  );

  function gone({ seq, receiver, bytes }: Size & { seq: number }): void {
    remove.run(seq);
    shrink.dropped.run(bytes, receiver);
  }

  function addOne({ receiver, id, body }: OutboxMessage, { now, limits }: { now: number; limits: OutboxLimits }): void {
    const bytes = Buffer.byteLength(body);
    const added = add.run(receiver, id, now, now, now, bytes, sealer.seal(body, labelOf({ receiver, id })));
    if (added.changes === 0) return;
    const kept = grow.get(receiver, bytes) as { waiting: number; bytes: number };
    while (kept.waiting > limits.maxWaiting || kept.bytes > limits.maxWaitingBytes) {
      const first = oldest.get({ receiver, now }) as unknown as (Size & { seq: number }) | undefined;
      if (!first) return;
      gone(first);
      kept.waiting -= 1;
      kept.bytes -= first.bytes;
    }
  }

  /** Undefined when it cannot be read and was dropped. */
  function leaseRow({ seq, receiver, id, bytes, failures, sealed }: Row, until: Until): LeasedMessage | undefined {
    const body = sealer.unseal(sealed, labelOf({ receiver, id }));
    if (body === undefined) {
      gone({ seq, receiver, bytes });
      return undefined;
    }
    const token = randomUUID();
    lease.run(token, until.now, until.now + until.leaseMs, seq);
    return { message: { receiver, id, body }, failures, token };
  }

  return {
    postMessages: operation(
      "durable",
      ({ messages, ...rest }: { messages: readonly OutboxMessage[]; now: number; limits: OutboxLimits }): void => {
        for (const message of messages) addOne(message, rest);
      },
    ),

    takeMessages: operation(
      "relaxed",
      ({ wanted, ...until }: Until & { wanted: readonly Wanted[] }): LeasedMessage[] => {
        return wanted.flatMap(({ receiver, limit }) => {
          const rows = due.all(receiver, until.now, limit) as unknown as Row[];
          return rows.flatMap((row) => leaseRow(row, until) ?? []);
        });
      },
    ),

    /** Relaxed, as is all that follows: a power cut may repeat a message. */
    messageSent: operation("relaxed", ({ receiver, id, token }: Holder): boolean => {
      const row = sent.get(receiver, id, token) as { bytes: number } | undefined;
      if (row) shrink.sent.run(row.bytes, receiver);
      return row !== undefined;
    }),

    messageFailed: operation(
      "relaxed",
      ({ receiver, id, token, now, delayMs }: Holder & { now: number; delayMs: number }): boolean => {
        const written = failed.run(now, now + delayMs, receiver, id, token).changes === 1;
        if (written) countFailure.run(receiver);
        return written;
      },
    ),

    messageUntried: operation("relaxed", ({ receiver, id, token, now }: Holder & { now: number }): boolean => {
      return untried.run(now, now, receiver, id, token).changes === 1;
    }),

    /** How long until a message for one of them is due, at most 0 when one is; undefined when none will be. */
    untilMessageDue: operation("read", (args: { receivers: readonly string[]; now: number }): number | undefined => {
      const dueAt = nextDue.get(JSON.stringify(args.receivers))?.dueAt;
      return typeof dueAt === "number" ? dueAt - args.now : undefined;
    }),

    /** Answers whether there may be more. */
    sweepMessages: operation("relaxed", ({ now, limits }: { now: number; limits: OutboxLimits }): boolean => {
      const before = now - limits.retentionSeconds * 1000;
      let left = SWEPT_AT_ONCE;
      for (const { receiver } of receivers.all() as unknown as { receiver: string }[]) {
        rebaseWait.run({ receiver, now });
        rebaseAge.run({ receiver, now });
        const rows = tooOld.all({ receiver, before, now, limit: left }) as unknown as (Size & { seq: number })[];
        rows.forEach(gone);
        left -= rows.length;
      }
      return left === 0;
    }),

    messageCounts: operation("read", ({ now }: { now: number }): OutboxCounts[] => {
      return (counts.all({ now }) as unknown as OutboxCounts[]).map((row) => ({ ...row }));
    }),
  };
}

interface Until {
  now: number;
  leaseMs: number;
}

function labelOf({ receiver, id }: { receiver: string; id: string }): Label {
  return ["message", `${receiver} ${id}`];
}
