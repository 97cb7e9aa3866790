import { connect as dial } from "node:net";
import type pg from "pg";
import { DatabaseUnavailable, unavailableFrom, unheardByStandby } from "./database-unavailable.ts";
import { parsePostgresUrl } from "./postgres-url.ts";
import { endOf, type Link, nameOf, serversOf } from "./servers.ts";

/** Runs one statement and answers its rows. */
export type Query = <Row>(sql: string, values?: readonly unknown[]) => Promise<Row[]>;

/**
 * Ways to the database, a bounded number. Nothing is kept on any of them from one use to the next. All of it throws
 * `DatabaseUnavailable`, or what the driver throws when the mistake is ours.
 */
export interface Connections {
  /** One statement, a transaction of its own. */
  query: Query;
  /** Several statements on the same connection; an open transaction is undone when it throws. */
  use<Result>(work: (query: Query) => Promise<Result>, options?: { answerMs?: number }): Promise<Result>;
  /** One more, which is the caller's to close. */
  connect(): Promise<pg.Client>;
  /** Why the last use failed, unless one has succeeded since. */
  readonly trouble: DatabaseUnavailable | undefined;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  /** As `parsePostgresUrl` takes it. A secret. */
  url: string;
  /** At most so many at once. */
  pool: number;
}

interface Waiting {
  take(link: Promise<Link>): void;
}

/** For a connection that another use gives back. */
const TURN_MS = 2000;
const IDLE_MS = 30_000;

export function connections({ url, pool: max }: ConnectionOptions): Connections {
  const address = parsePostgresUrl(url);
  if ("problem" in address) {
    const hint = "LAZARET_POSTGRES_URL=postgresql://user:password@host:5432/name";
    throw new DatabaseUnavailable(`cannot use LAZARET_POSTGRES_URL: it ${address.problem}`, hint);
  }
  const servers = serversOf(address.value);
  /** Those at rest, and since when. The last used is used first. */
  const idle: { link: Link; since: number }[] = [];
  const closingIdle = setInterval(closeIdle, IDLE_MS / 3).unref();
  const waiting: Waiting[] = [];
  const unheard = new WeakSet<Link>();
  const allGone = Promise.withResolvers<void>();
  /** With those that are being opened. */
  let open = 0;
  let closed = false;
  let trouble: DatabaseUnavailable | undefined;

  async function borrow(): Promise<Link> {
    if (closed) throw stopping();
    for (let rested = idle.pop(); rested; rested = idle.pop()) {
      if (servers.isCurrent(rested.link.server)) return rested.link;
      drop(rested.link);
    }
    if (open < max) return await openAnother();
    const turn = Promise.withResolvers<Link>();
    const waiter = { take: turn.resolve };
    waiting.push(waiter);
    const late = setTimeout(() => {
      const place = waiting.indexOf(waiter);
      // One is being opened for it.
      if (place === -1) return;
      waiting.splice(place, 1);
      turn.reject(trouble ?? allInUse(max));
    }, TURN_MS);
    return await turn.promise.finally(() => clearTimeout(late));
  }

  async function openAnother(): Promise<Link> {
    open += 1;
    try {
      const link = await servers.connect();
      // Of a commit that was to wait for a standby: somebody has cancelled the wait, and it is acknowledged all the same.
      link.client.on("notice", ({ routine }) => routine === "SyncRepWaitForLSN" && unheard.add(link));
      link.client.on("end", () => dropWhere((rested) => rested.link === link));
      return link;
    } catch (error) {
      oneLess();
      throw error;
    }
  }

  function giveBack(link: Link): void {
    const useful = !closed && servers.isCurrent(link.server);
    const next = useful ? waiting.shift() : undefined;
    if (!useful) drop(link);
    else if (next) next.take(Promise.resolve(link));
    else idle.push({ link, since: performance.now() });
  }

  function drop(link: Link): void {
    void endOf(link).then(oneLess);
  }

  function dropWhere(useless: (rested: { link: Link; since: number }) => boolean): void {
    for (const rested of idle.filter(useless)) {
      idle.splice(idle.indexOf(rested), 1);
      drop(rested.link);
    }
  }

  function closeIdle(): void {
    const latest = performance.now() - IDLE_MS;
    dropWhere(({ since }) => since < latest);
  }

  function oneLess(): void {
    open -= 1;
    if (!closed && open < max) waiting.shift()?.take(openAnother());
    if (closed && open === 0) allGone.resolve();
  }

  async function use<Result>(
    work: (query: Query) => Promise<Result>,
    { answerMs }: { answerMs?: number } = {},
  ): Promise<Result> {
    let link: Link | undefined;
    try {
      link = await borrow();
      const { client } = link;
      const result = await work(async (text, values) => {
        const asked = values && [...values];
        if (answerMs === undefined) return (await client.query(text, asked)).rows;
        return (await client.query({ text, ...(asked && { values: asked }), ...{ query_timeout: answerMs } })).rows;
      });
      if (unheard.has(link)) throw unheardByStandby(nameOf(link.server));
      trouble = undefined;
      giveBack(link);
      return result;
    } catch (error) {
      const failure = failureOf(error, link);
      // Closed, whatever it was: nobody knows what is open on it.
      if (link) drop(link);
      if (!failure) throw error;
      trouble = failure;
      throw failure;
    }
  }

  function failureOf(error: unknown, link: Link | undefined): DatabaseUnavailable | undefined {
    if (!link) return error instanceof DatabaseUnavailable ? error : undefined;
    const failure = unavailableFrom(error, nameOf(link.server));
    // It would go on, and hold its locks, as soon as the server gets to it.
    if (failure?.kind === "silent") cancel(link);
    if (failure?.kind === "silent" || failure?.kind === "demoted") servers.leave(link.server);
    return failure;
  }

  return {
    use,
    query: (sql, values) => use((query) => query(sql, values)),
    connect: async () => (await servers.connect()).client,
    get trouble() {
      return trouble;
    },
    async close() {
      closed = true;
      servers.close();
      for (const { take } of waiting.splice(0)) take(Promise.reject(stopping()));
      clearInterval(closingIdle);
      dropWhere(() => true);
      if (open > 0) await allGone.promise;
    },
  };
}

function stopping(): DatabaseUnavailable {
  return new DatabaseUnavailable("the job database is closed", "lazaret is stopping");
}

function allInUse(max: number): DatabaseUnavailable {
  return new DatabaseUnavailable(
    `cannot use the job database: all ${max} connections of this process are in use`,
    "raise LAZARET_POSTGRES_POOL; if that does not help, look for what keeps the server busy (pg_stat_activity shows it)",
    { kind: "lost" },
  );
}

const CANCEL_MS = 2000;
const CANCEL_CODE = 80_877_102;

/** Asks the server to end what this connection has asked for. It answers nothing; whether it helped nobody knows. */
function cancel({ client, server: { host, port } }: Link): void {
  const { processID = 0, secretKey = 0 } = client as { processID?: number; secretKey?: number };
  const request = Buffer.alloc(16);
  for (const [index, word] of [request.length, CANCEL_CODE, processID, secretKey].entries()) {
    request.writeInt32BE(word, index * 4);
  }
  const socket = host.startsWith("/") ? dial(`${host}/.s.PGSQL.${port}`) : dial(port, host);
  socket.setTimeout(CANCEL_MS, () => socket.destroy());
  socket.on("error", () => {});
  socket.unref().resume().end(request);
}
