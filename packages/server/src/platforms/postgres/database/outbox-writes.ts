import type { OutboxMessage } from "../../shared/messages/outbox.ts";
import type { Label, Sealer } from "../../shared/sealed.ts";
import type { BulkWrite } from "./write-lane.ts";

/** Whose lease it is. Nothing is written for a lease that was lost. */
export interface MessageHolder {
  receiver: string;
  id: string;
  token: string;
}

/** What waits for a receiver by now. */
interface Kept {
  receiver: string;
  waiting: number;
  bytes: number;
}

/** Undefined when nobody knows: the answer to the first try was lost, and the second found no such lease. */
type MaybeWritten = boolean | undefined;

interface OutboxWrites {
  post: BulkWrite<OutboxMessage, Kept>;
  sent: BulkWrite<MessageHolder, MaybeWritten>;
  /** Due again after a while; `failures` is how many that makes more. */
  again: BulkWrite<MessageHolder & { delayMs: number; failures: number }, MaybeWritten>;
}

/** What is written about messages, many at a time. The counts are written last, as they make others wait. */
export function outboxWrites({ sealer, schema: s }: { sealer: Sealer; schema: string }): OutboxWrites {
  const now = `${s}.now_ms()`;
  const held = "outbox.receiver = held.receiver AND outbox.id = held.id AND outbox.lease_token = held.token";
  const holders = (all: readonly MessageHolder[]): unknown[] => [
    all.map(({ receiver }) => receiver),
    all.map(({ id }) => id),
    all.map(({ token }) => token),
  ];
  const marks = (
    all: readonly MessageHolder[],
    rows: readonly { receiver: string; id: string }[],
    repeated: boolean,
  ): MaybeWritten[] => {
    const written = new Set(rows.map(nameOf));
    // Of two that ask the same at once one has written.
    return all.map((holder) => written.delete(nameOf(holder)) || (repeated ? undefined : false));
  };

  return {
    post: {
      durable: true,
      bytesOf: ({ body }) => body.length,
      async run(query, all) {
        const rows = await query<Kept>(
          `WITH added AS (
             INSERT INTO ${s}.outbox (receiver, id, added_at, since, due_at, bytes, sealed)
             SELECT receiver, id, ${now}, ${now}, ${now}, bytes, sealed
             FROM unnest($1::text[], $2::text[], $3::int[], $4::bytea[])
               WITH ORDINALITY AS given (receiver, id, bytes, sealed, place) ORDER BY place
             ON CONFLICT (receiver, id) DO NOTHING RETURNING receiver, bytes
           )
           INSERT INTO ${s}.outbox_counts AS kept (receiver, waiting, bytes)
           SELECT receiver, count(*), sum(bytes) FROM added GROUP BY receiver ORDER BY receiver
           ON CONFLICT (receiver) DO UPDATE
             SET waiting = kept.waiting + excluded.waiting, bytes = kept.bytes + excluded.bytes
           RETURNING receiver, waiting, bytes`,
          [
            all.map(({ receiver }) => receiver),
            all.map(({ id }) => id),
            all.map(({ body }) => Buffer.byteLength(body)),
            all.map((message) => sealer.seal(message.body, labelOf(message))),
          ],
        );
        const kept = new Map(rows.map((row) => [row.receiver, row]));
        // Nothing was added for the others, so no limit was passed.
        return all.map(({ receiver }) => kept.get(receiver) ?? { receiver, waiting: 0, bytes: 0 });
      },
    },

    /** Neither this nor the next is durable: a crash of the server may repeat a message. */
    sent: {
      durable: false,
      async run(query, all, { repeated }) {
        const rows = await query<{ receiver: string; id: string }>(
          `WITH gone AS (
             DELETE FROM ${s}.outbox USING unnest($1::text[], $2::text[], $3::uuid[]) AS held (receiver, id, token)
             WHERE ${held} RETURNING outbox.receiver, outbox.id, bytes
           ), counted AS (
             UPDATE ${s}.outbox_counts SET waiting = waiting - gone.count, bytes = outbox_counts.bytes - gone.bytes,
               sent = sent + gone.count
             FROM (SELECT receiver, count(*) AS count, sum(bytes) AS bytes FROM gone GROUP BY receiver) AS gone
             WHERE outbox_counts.receiver = gone.receiver
           )
           SELECT receiver, id FROM gone`,
          holders(all),
        );
        return marks(all, rows, repeated);
      },
    },

    again: {
      durable: false,
      async run(query, all, { repeated }) {
        const rows = await query<{ receiver: string; id: string }>(
          `WITH written AS (
             UPDATE ${s}.outbox SET lease_token = NULL, failures = failures + held.more, since = ${now}, due_at = ${now} + held.delay
             FROM unnest($1::text[], $2::text[], $3::uuid[], $4::bigint[], $5::int[]) AS held (receiver, id, token, delay, more)
             WHERE ${held} RETURNING outbox.receiver, outbox.id, held.more
           ), counted AS (
             UPDATE ${s}.outbox_counts SET failed_tries = failed_tries + failed.count
             FROM (SELECT receiver, sum(more) AS count FROM written WHERE more > 0 GROUP BY receiver) AS failed
             WHERE outbox_counts.receiver = failed.receiver
           )
           SELECT receiver, id FROM written`,
          [...holders(all), all.map(({ delayMs }) => delayMs), all.map(({ failures }) => failures)],
        );
        return marks(all, rows, repeated);
      },
    },
  };
}

export function labelOf({ receiver, id }: { receiver: string; id: string }): Label {
  return ["message", nameOf({ receiver, id })];
}

function nameOf({ receiver, id }: { receiver: string; id: string }): string {
  return `${receiver} ${id}`;
}
