import type pg from "pg";
import { type Alarm, alarm } from "../../../flow/alarm.ts";
import type { Connections } from "./connections.ts";
import { endOf } from "./servers.ts";

/** Wakes those who wait for work, in this process and in others. A wake-up may be lost: who waits asks now and then anyway. */
export interface WakeUps {
  /** Jobs wake workers, messages those who send. */
  readonly jobs: WakeUp;
  readonly messages: WakeUp;
  close(): Promise<void>;
}

interface WakeUp extends Pick<Alarm, "rings" | "sleep"> {
  ring(): void;
}

const LISTEN_AGAIN_MS = 5000;
/** A notification costs the server as much as a job: where jobs come one by one, some share it. */
const NOTIFY_EVERY_MS = 20;
/** A connection whose other end is gone without a word would be listened to for hours. */
const STILL_THERE_MS = 30_000;

/**
 * By LISTEN and NOTIFY. The notification is sent after the commit and not in it: commits that notify queue up behind each
 * other in the whole database. Who listens has a connection of its own; behind a pooler that hands connections on after each
 * transaction it hears nothing, and nothing depends on it.
 */
export function wakeUps(connections: Connections, { channel, origin }: { channel: string; origin: string }): WakeUps {
  const alarms = { jobs: alarm(), messages: alarm() };
  const told = new Set<keyof typeof alarms>();
  let telling: Promise<void> | undefined;
  let listening: Promise<pg.Client | undefined> | undefined;
  let closed = false;

  /** However many ring meanwhile, one notification is enough. */
  async function tellOthers(): Promise<void> {
    while (told.size > 0) {
      const what = [...told];
      told.clear();
      const sql =
        "SELECT pg_notify($1, word), set_config('synchronous_commit', 'off', true) FROM unnest($2::text[]) word";
      await connections.query(sql, [channel, what.map((name) => `${name} ${origin}`)]).catch(() => {});
      if (!closed) await new Promise((resolve) => setTimeout(resolve, NOTIFY_EVERY_MS));
    }
    telling = undefined;
  }

  async function listen(): Promise<pg.Client | undefined> {
    let client: pg.Client | undefined;
    try {
      client = await connections.connect();
      client.on("notification", ({ payload = "" }) => {
        const [what = "", from] = payload.split(" ");
        if (from !== origin && (what === "jobs" || what === "messages")) alarms[what].ring();
      });
      client.once("end", listenLater);
      await client.query(`LISTEN "${channel}"`);
      keepAsking(client);
      return client;
    } catch {
      if (client) await endOf({ client });
      listenLater();
      return undefined;
    }
  }

  function keepAsking(client: pg.Client): void {
    const asking = setInterval(() => {
      client.query("SELECT 1").catch(() => client.connection.stream.destroy());
    }, STILL_THERE_MS).unref();
    client.once("end", () => clearInterval(asking));
  }

  function listenLater(): void {
    if (closed) return;
    setTimeout(() => {
      listening = undefined;
    }, LISTEN_AGAIN_MS).unref();
  }

  function wakeUp(what: keyof typeof alarms): WakeUp {
    return {
      get rings() {
        return alarms[what].rings;
      },
      ring() {
        alarms[what].ring();
        if (closed) return;
        told.add(what);
        telling ??= tellOthers();
      },
      sleep(ms, signal) {
        // Who never waits needs no connection for it.
        if (!closed) listening ??= listen();
        return alarms[what].sleep(ms, signal);
      },
    };
  }

  return {
    jobs: wakeUp("jobs"),
    messages: wakeUp("messages"),
    async close() {
      closed = true;
      for (const each of Object.values(alarms)) each.stop();
      await telling;
      const client = await listening;
      if (client) await endOf({ client });
    },
  };
}
