import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Connections, Query } from "./connections.ts";
import { DatabaseUnavailable, type FailureKind } from "./database-unavailable.ts";

/** One kind of write, of which any number is one statement. */
export interface BulkWrite<Args, Answer> {
  /** What may be forgotten when the server crashes is not; nothing is by the end of a process. */
  durable: boolean;
  /** How much one brings along; nothing to speak of where it is left out. */
  bytesOf?(args: Args): number;
  /** One statement. Answers in the order of what was asked. */
  run(query: Query, asked: readonly Args[], batch: Batch): Promise<Answer[]>;
}

export interface Batch {
  /** The same when it is tried again. */
  id: string;
  /** It was sent before, and no answer came: it may have been done already. */
  repeated: boolean;
}

/** Writes of one process, in transactions that they share. Throws `DatabaseUnavailable`. */
export interface WriteLane {
  /** What is asked within one turn of the event loop, or while a commit is under way, shares the next commit. */
  write<Args, Answer>(kind: BulkWrite<Args, Answer>, args: Args): Promise<Answer>;
  /** Finishes what was asked before. */
  close(): Promise<void>;
}

interface Waiting {
  kind: BulkWrite<unknown, unknown>;
  args: unknown;
  settle(answer: unknown): void;
  fail(error: unknown): void;
}

/** So that no commit takes long, however many wait, and no statement gets too large. */
const LARGEST_BATCH = 500;
const LARGEST_BATCH_BYTES = 8 * 1024 * 1024;
/** How long a server may be away, for a restart or a failover, before we say so. */
const TRIED_FOR_MS = 2000;
const PAUSE_MS = 100;
/**
 * The server's own, longer than ours, for a process that is gone without a word: its locks would be held until the network notices,
 * which takes hours. For this transaction only.
 */
const TIME_LIMITS = "SET LOCAL statement_timeout = 10000; SET LOCAL idle_in_transaction_session_timeout = 10000";
/** A server that takes no writes is no moment's trouble, unless another has taken its place. */
const DEMOTED_TRIES = 3;
/** Once it is known that the server is away or silent, those who came meanwhile would only wait as long again. */
const FAILS_ALL: readonly FailureKind[] = ["lost", "late", "silent"];

export function writeLane(connections: Connections): WriteLane {
  const waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;
  let closed = false;

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      await new Promise(setImmediate);
      await writeAll(waiting.splice(0, batchSize()));
    }
    flushing = undefined;
  }

  function batchSize(): number {
    let bytes = 0;
    const beyond = waiting.findIndex(({ kind, args }, index) => {
      bytes += kind.bytesOf?.(args) ?? 0;
      return index === LARGEST_BATCH || (index > 0 && bytes > LARGEST_BATCH_BYTES);
    });
    return beyond === -1 ? waiting.length : beyond;
  }

  /** Never throws: each one is settled or failed. */
  async function writeAll(asked: readonly Waiting[]): Promise<void> {
    const batch: Batch = { id: randomUUID(), repeated: false };
    const givenUpAt = performance.now() + TRIED_FOR_MS;
    for (let tries = 1; ; tries += 1) {
      // Once it is sent the server may do it though we hear nothing.
      const sent = { yet: false };
      try {
        for (const [each, answer] of await tryOnce(asked, batch, sent)) each.settle(answer);
        return;
      } catch (error) {
        const kind = error instanceof DatabaseUnavailable ? error.kind : "mistake";
        if (kind === "lost") batch.repeated ||= sent.yet;
        const mayTry = ["lost", "late", "undone"].includes(kind) || (kind === "demoted" && tries < DEMOTED_TRIES);
        if (mayTry && performance.now() < givenUpAt) {
          // The first time only the connection may have been cut.
          if (tries > 1 || kind !== "lost") await pause(kind === "undone" ? Math.random() * PAUSE_MS : PAUSE_MS);
          continue;
        }
        // A mistake in one, or what one table has, does not fail the others.
        if ((kind === "mistake" || kind === "partly") && asked.length > 1) {
          for (const each of asked) await writeAll([each]);
          return;
        }
        const failed = kind !== "mistake" && FAILS_ALL.includes(kind) ? [...asked, ...waiting.splice(0)] : asked;
        for (const { fail } of failed) fail(error);
        return;
      }
    }
  }

  async function tryOnce(
    asked: readonly Waiting[],
    batch: Batch,
    sent: { yet: boolean },
  ): Promise<[Waiting, unknown][]> {
    const kinds = [...Map.groupBy(asked, ({ kind }) => kind)];
    const answers: [Waiting, unknown][] = [];

    async function writeKinds(query: Query): Promise<void> {
      sent.yet = true;
      for (const [kind, all] of kinds) {
        const found = await kind.run(
          query,
          all.map(({ args }) => args),
          batch,
        );
        answers.push(...all.map((each, index): [Waiting, unknown] => [each, found[index]]));
      }
    }

    await connections.use(async (query) => {
      const durable = kinds.some(([kind]) => kind.durable);
      if (durable && kinds.length === 1) return await writeKinds(query);
      await query(`BEGIN; ${TIME_LIMITS}${durable ? "" : "; SET LOCAL synchronous_commit = off"}`);
      await writeKinds(query);
      await query("COMMIT");
    });
    return answers;
  }

  return {
    write<Args, Answer>(kind: BulkWrite<Args, Answer>, args: Args): Promise<Answer> {
      if (closed) return Promise.reject(new DatabaseUnavailable("the job database is closed", "lazaret is stopping"));
      return new Promise<Answer>((resolve, reject) => {
        const settle = (answer: unknown): void => resolve(answer as Answer);
        waiting.push({ kind: kind as BulkWrite<unknown, unknown>, args, settle, fail: reject });
        flushing ??= flush();
      });
    },

    async close() {
      closed = true;
      await flushing;
    },
  };
}
