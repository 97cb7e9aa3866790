import pg from "pg";
import { failureOf } from "./database-unavailable.ts";

/** Runs one statement and answers its rows. */
export type Query = <Row>(sql: string, values?: readonly unknown[]) => Promise<Row[]>;

/** Ways to the database, a bounded number. Nothing is kept on any of them from one use to the next. */
export interface Connections {
  /** One statement, a transaction of its own. Throws `DatabaseUnavailable`. */
  query: Query;
  /** Several statements on the same connection. Throws what the driver throws; an open transaction is then undone. */
  use<Result>(work: (query: Query) => Promise<Result>): Promise<Result>;
  /** One more, which is the caller's to close. */
  connect(): Promise<pg.Client>;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  /** `postgresql://user:password@host:port/name?sslmode=verify-full`. A secret. */
  url: string;
  /** At most so many at once. */
  pool: number;
}

/** Longer than any of our statements takes on a server that is well; shorter than a client waits for its answer. */
const ANSWER_MS = 5000;
/** For a connection, be it new or one that another use gives back. */
const CONNECT_MS = 2000;
const IDLE_MS = 30_000;
const INT8 = 20;

export function connections({ url, pool: max }: ConnectionOptions): Connections {
  const config: pg.ClientConfig = {
    connectionString: url,
    application_name: "lazaret",
    query_timeout: ANSWER_MS,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    types: { getTypeParser },
  };
  const pool = new pg.Pool({ ...config, max, idleTimeoutMillis: IDLE_MS });
  // Whoever uses a connection hears of its end; for those at rest there is nobody to hear it.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));

  async function use<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
    const client = await pool.connect();
    try {
      const result = await work(async (sql, values) => (await client.query(sql, values && [...values])).rows);
      client.release();
      return result;
    } catch (error) {
      // Closed, whatever it was: nobody knows what is open on it.
      client.release(true);
      throw error;
    }
  }

  return {
    use,
    async query<Row>(sql: string, values?: readonly unknown[]): Promise<Row[]> {
      try {
        return await use((query) => query<Row>(sql, values));
      } catch (error) {
        const failure = failureOf(error);
        throw failure.kind === "mistake" ? error : failure.error;
      }
    },
    async connect() {
      const client = new pg.Client(config);
      client.on("error", () => {});
      await client.connect();
      return client;
    },
    close: () => pool.end(),
  };
}

/** Our numbers are exact up to 2^53. */
function getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  return oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text");
}
