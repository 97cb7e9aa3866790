import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import pg from "pg";
import { DatabaseUnavailable, unavailableFrom } from "./database-unavailable.ts";
import type { DatabaseAddress, Server } from "./postgres-url.ts";

/** A connection to one of the servers. */
export interface Link {
  readonly client: pg.Client;
  readonly server: Server;
}

/**
 * Which of the servers is used: the one that takes writes. After a failover that is another one. One that was left behind takes
 * writes all the same if nobody stopped it; it is told by its timeline, a number that grows with every promotion.
 */
export interface Servers {
  /** Throws `DatabaseUnavailable`. */
  connect(): Promise<Link>;
  /** This one is silent, or takes no writes any more: all are asked again. */
  leave(server: Server): void;
  /** False for a server that was left: its connections are of no use. */
  isCurrent(server: Server): boolean;
  close(): void;
}

/** For a connection, until the server is ready for the first statement. */
const CONNECT_MS = 2000;
/** Longer than any of our statements takes on a server that is well; shorter than a client waits for its answer. */
const ANSWER_MS = 5000;
/** The others may say that the one that answered first was left behind. */
const OTHERS_MS = 250;
/** So long may a server that was left behind, and still runs, be taken for the primary. */
const WATCH_MS = 10_000;
const INT8 = 20;

/** What a server says about itself. */
type Standing = { server: Server } & (
  | { timeline: number }
  | { problem: string; error: DatabaseUnavailable | undefined }
);

export function serversOf(address: DatabaseAddress): Servers {
  const { servers, primaryOnly } = address;
  let current: Server | undefined = primaryOnly ? undefined : servers[0];
  let newestTimeline = 0;
  let finding: Promise<Server> | undefined;
  const watch = servers.length > 1 ? setInterval(() => void lookForAnother(), WATCH_MS).unref() : undefined;

  async function open(server: Server): Promise<Link> {
    try {
      const client = new pg.Client(configFor(address, server));
      // Whoever uses it hears of its end; while it is at rest there is nobody to hear it.
      client.on("error", () => {});
      await client.connect();
      return { client, server };
    } catch (error) {
      throw unavailableFrom(error, nameOf(server)) ?? error;
    }
  }

  async function standingOf({ client, server }: Link): Promise<Standing> {
    const { rows } = await client.query<{ readOnly: boolean; timeline: number }>(
      `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS "readOnly",
         CASE WHEN pg_is_in_recovery() THEN 0
           ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`,
    );
    const { readOnly = true, timeline = 0 } = rows[0] ?? {};
    return readOnly ? { server, problem: "takes no writes", error: undefined } : { server, timeline };
  }

  /** Never throws. */
  async function ask(server: Server): Promise<Standing> {
    let link: Link | undefined;
    try {
      link = await open(server);
      return await standingOf(link);
    } catch (thrown) {
      const error = unavailableFrom(thrown, nameOf(server));
      const words = error?.cause instanceof Error ? error.cause.message : String(error?.message ?? thrown);
      return { server, problem: words, error };
    } finally {
      if (link) void endOf(link);
    }
  }

  async function askAll(): Promise<Standing[]> {
    const standings: Standing[] = [];
    const found = Promise.withResolvers<void>();
    const asked = servers.map(async (server) => {
      const standing = await ask(server);
      standings.push(standing);
      if ("timeline" in standing) found.resolve();
    });
    await Promise.race([Promise.all(asked), found.promise.then(() => pause(OTHERS_MS))]);
    return standings;
  }

  /** The first in order that takes writes, of those that no other has left behind. */
  function choose(standings: readonly Standing[]): Server | undefined {
    const taking = standings.filter((standing) => "timeline" in standing);
    newestTimeline = Math.max(newestTimeline, ...taking.map(({ timeline }) => timeline));
    const newest = taking.filter(({ timeline }) => timeline === newestTimeline).map(({ server }) => server);
    return servers.find((server) => newest.includes(server));
  }

  async function findPrimary(): Promise<Server> {
    const standings = await askAll();
    const found = choose(standings);
    if (found) {
      current = found;
      return found;
    }
    const [only] = standings;
    if (only && "error" in only && only.error && standings.length === 1) throw only.error;
    const said = standings.map(
      (each) => `${nameOf(each.server)} ${"problem" in each ? each.problem : "was left behind"}`,
    );
    throw new DatabaseUnavailable(
      `cannot use the job database: no server takes writes (${said.join("; ")})`,
      "start or promote one of the servers of LAZARET_POSTGRES_URL; lazaret goes on by itself",
      { kind: standings.some((each) => "error" in each && each.error?.kind === "late") ? "late" : "lost" },
    );
  }

  async function lookForAnother(): Promise<void> {
    if (!current) return;
    const found = choose(await askAll());
    if (found) current = found;
  }

  return {
    async connect() {
      if (!primaryOnly && servers[0]) return await open(servers[0]);
      if (current) {
        const server = current;
        const link = await open(server).catch(() => undefined);
        const standing = link && (await standingOf(link).catch(() => undefined));
        if (link && standing && "timeline" in standing && standing.timeline >= newestTimeline) return link;
        if (link) void endOf(link);
        if (current === server) current = undefined;
      }
      finding ??= findPrimary().finally(() => {
        finding = undefined;
      });
      return await open(await finding);
    },
    leave(server) {
      if (primaryOnly && current === server) current = undefined;
    },
    isCurrent: (server) => current === server,
    close: () => clearInterval(watch),
  };
}

export function nameOf({ host, port }: Server): string {
  if (host.startsWith("/")) return `${host}/.s.PGSQL.${port}`;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** One that says nothing any more is not waited for. */
export async function endOf({ client }: Pick<Link, "client">): Promise<void> {
  await Promise.race([client.end().catch(() => {}), pause(OTHERS_MS)]);
  client.connection.stream.destroy();
}

function configFor(address: DatabaseAddress, { host, port }: Server): pg.ClientConfig {
  const { user, password, database, options } = address;
  return {
    host,
    port,
    user,
    database,
    // A function, as the driver would look for another password elsewhere.
    password: () => password ?? "",
    ...(options !== undefined && { options }),
    ssl: host.startsWith("/") ? false : tlsOptions(address),
    application_name: "lazaret",
    query_timeout: ANSWER_MS,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    types: { getTypeParser },
  };
}

/** Read for each connection, so that renewed ones are used. */
function tlsOptions({ tls }: DatabaseAddress): TlsOptions | false {
  if (!tls) return false;
  return {
    rejectUnauthorized: tls.verify !== "nothing",
    ...(tls.verify === "authority" && { checkServerIdentity: () => undefined }),
    ...(tls.rootCert !== undefined && { ca: pem(tls.rootCert) }),
    ...(tls.cert !== undefined && { cert: pem(tls.cert) }),
    ...(tls.key !== undefined && { key: pem(tls.key) }),
  };
}

function pem(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new DatabaseUnavailable(
      `cannot read ${path}, which LAZARET_POSTGRES_URL names`,
      "sslrootcert, sslcert and sslkey are paths of PEM files that lazaret can read",
      { cause },
    );
  }
}

/** Our numbers are exact up to 2^53. */
function getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  return oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text");
}
