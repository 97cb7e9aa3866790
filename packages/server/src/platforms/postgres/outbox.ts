import {
  type LeaseEnd,
  OUTBOX_LEASE_SECONDS,
  type Outbox,
  type OutboxCounts,
  type OutboxLease,
  type OutboxLimits,
  outboxLimits,
} from "../shared/messages/outbox.ts";
import { DatabaseUnavailable } from "./database/database-unavailable.ts";
import { labelOf, type MessageHolder, outboxWrites } from "./database/outbox-writes.ts";
import type { StoreParts } from "./database/store-parts.ts";

/** Other processes add messages too, and a notification of that may be lost. */
const LONGEST_WAIT_MS = 1000;
/** So that no transaction takes long, however much is too old. */
const SWEPT_AT_ONCE = 1000;

interface TakenRow {
  seq: number | null;
  receiver: string;
  id: string;
  failures: number;
  token: string;
  sealed: Uint8Array;
}

export function postgresOutbox(parts: StoreParts, limits: OutboxLimits = outboxLimits): Outbox {
  const { connections, lane, wakeUps, sealer, schema: s } = parts;
  const now = `${s}.now_ms()`;
  const writes = outboxWrites({ sealer, schema: s });
  const notLeased = `(lease_token IS NULL OR due_at <= ${now})`;
  // No quota is above $4, which only lets the server know so: see the lease of jobs.
  const take = `WITH due AS (
      SELECT found.seq, found.due_at, wanted.place
      FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS wanted (receiver, quota, place) CROSS JOIN LATERAL (
        SELECT * FROM (
          SELECT seq, due_at FROM ${s}.outbox WHERE outbox.receiver = wanted.receiver AND due_at <= ${now}
          ORDER BY due_at, seq LIMIT wanted.quota FOR UPDATE SKIP LOCKED
        ) AS first LIMIT $4::int
      ) AS found
    ), leased AS (
      UPDATE ${s}.outbox SET lease_token = gen_random_uuid(), since = ${now}, due_at = ${now} + $3::bigint
      FROM due WHERE outbox.seq = due.seq
      RETURNING outbox.seq, receiver, id, failures, lease_token AS token, sealed, place, due.due_at AS was_due_at
    )
    SELECT leased.* FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
    LEFT JOIN leased ON true ORDER BY place, was_due_at, seq`;
  /** Gone, and counted as dropped. `chosen` is the sequence numbers. */
  const drop = (chosen: string): string =>
    `WITH gone AS (DELETE FROM ${s}.outbox WHERE seq IN (${chosen}) RETURNING receiver, bytes), counted AS (
       UPDATE ${s}.outbox_counts SET waiting = waiting - gone.count, bytes = outbox_counts.bytes - gone.bytes,
         dropped = dropped + gone.count
       FROM (SELECT receiver, count(*) AS count, sum(bytes) AS bytes FROM gone GROUP BY receiver) AS gone
       WHERE outbox_counts.receiver = gone.receiver
     )
     SELECT count(*) AS count FROM gone`;
  // The oldest ones, until what is left is within both limits.
  const dropOldest = drop(
    `SELECT seq FROM (
       SELECT seq, row_number() OVER age AS place, sum(bytes) OVER age - bytes AS bytes_before FROM (
         SELECT seq, added_at, bytes FROM ${s}.outbox WHERE receiver = $1 AND ${notLeased}
         ORDER BY added_at, seq LIMIT ${SWEPT_AT_ONCE}
       ) AS oldest WINDOW age AS (ORDER BY added_at, seq)
     ) AS oldest, ${s}.outbox_counts AS kept
     WHERE kept.receiver = $1 AND (place <= kept.waiting - $2::bigint OR bytes_before < kept.bytes - $3::bigint)`,
  );
  const dropOld = drop(
    `SELECT old.seq FROM ${s}.outbox_counts AS kept CROSS JOIN LATERAL (
       SELECT seq FROM ${s}.outbox WHERE outbox.receiver = kept.receiver AND added_at <= ${now} - $1::bigint AND ${notLeased}
       ORDER BY added_at LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED
     ) AS old WHERE kept.waiting > 0`,
  );
  // What began in the future begins now: the clock was set back.
  const rebase = `UPDATE ${s}.outbox SET since = least(since, ${now}), added_at = least(added_at, ${now}),
      due_at = CASE WHEN since > ${now} THEN ${now} + (due_at - since) ELSE due_at END
    WHERE seq IN (
      SELECT late.seq FROM ${s}.outbox_counts AS kept CROSS JOIN LATERAL (
        (SELECT seq FROM ${s}.outbox WHERE outbox.receiver = kept.receiver AND due_at > ${now} AND since > ${now})
        UNION (SELECT seq FROM ${s}.outbox WHERE outbox.receiver = kept.receiver AND added_at > ${now})
      ) AS late WHERE kept.waiting > 0)`;

  /** Undefined when it cannot be read and was dropped. */
  async function leaseOf({ seq, receiver, id, failures, token, sealed }: TakenRow): Promise<OutboxLease | undefined> {
    const body = sealer.unseal(sealed, labelOf({ receiver, id }));
    if (body === undefined) {
      await connections.query(drop("$1"), [seq]);
      return undefined;
    }
    return { message: { receiver, id, body }, failures, end: (how) => end({ receiver, id, token }, how) };
  }

  async function end(holder: MessageHolder, how: LeaseEnd): Promise<boolean> {
    const delayMs = how.kind === "failed" ? Math.round(how.afterSeconds * 1000) : 0;
    const written =
      how.kind === "sent"
        ? await lane.write(writes.sent, holder)
        : await lane.write(writes.again, { ...holder, delayMs, failures: how.kind === "failed" ? 1 : 0 });
    if (written !== undefined) return written;
    throw new DatabaseUnavailable(
      "cannot tell whether the message was marked: the connection was lost",
      "lazaret goes on by itself; the message may be sent again",
    );
  }

  return {
    async add(messages) {
      const added = await Promise.all(messages.map((message) => lane.write(writes.post, message)));
      const kept = new Map(added.map((counts) => [counts.receiver, counts]));
      for (const { receiver, waiting, bytes } of kept.values()) {
        if (waiting > limits.maxWaiting || bytes > limits.maxWaitingBytes) {
          await connections.query(dropOldest, [receiver, limits.maxWaiting, limits.maxWaitingBytes]);
        }
      }
      wakeUps.messages.ring();
    },

    async take(wanted) {
      if (wanted.length === 0) return [];
      const rows = await connections.query<TakenRow>(take, [
        wanted.map(({ receiver }) => receiver),
        wanted.map(({ limit }) => limit),
        OUTBOX_LEASE_SECONDS * 1000,
        Math.max(...wanted.map(({ limit }) => limit)),
      ]);
      const leases = await Promise.all(rows.filter(({ seq }) => seq !== null).map(leaseOf));
      return leases.filter((lease) => lease !== undefined);
    },

    async wait(receivers, signal) {
      const { rings } = wakeUps.messages;
      // Who cannot ask waits the whole time, and then hears from `take` what is wrong.
      const [due] = await connections
        .query<{ ms: number | null }>(
          `SELECT min((SELECT min(due_at) FROM ${s}.outbox WHERE outbox.receiver = wanted.receiver)) - ${now} AS ms
           FROM unnest($1::text[]) AS wanted (receiver)`,
          [receivers],
        )
        .catch(() => []);
      if (wakeUps.messages.rings !== rings) return;
      const ms = Math.min(due?.ms ?? LONGEST_WAIT_MS, LONGEST_WAIT_MS);
      if (ms > 0) await wakeUps.messages.sleep(ms, signal);
    },

    async sweep() {
      await connections.query(rebase);
      for (;;) {
        const [dropped] = await connections.query<{ count: number }>(dropOld, [limits.retentionSeconds * 1000]);
        if ((dropped?.count ?? 0) < SWEPT_AT_ONCE) return;
      }
    },

    counts: () =>
      connections.query<OutboxCounts>(
        `SELECT receiver, waiting, bytes AS "waitingBytes", sent, failed_tries AS "failedTries", dropped,
           greatest(0, coalesce(
             (${now} - (SELECT min(added_at) FROM ${s}.outbox WHERE outbox.receiver = kept.receiver)) / 1000.0, 0
           ))::float8 AS "oldestSeconds"
         FROM ${s}.outbox_counts AS kept ORDER BY receiver`,
      ),
  };
}
