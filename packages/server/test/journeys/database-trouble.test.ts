import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import pg from "pg";
import type { Platform } from "../../src/platforms/platform.ts";
import { unavailableFrom } from "../../src/platforms/postgres/database/database-unavailable.ts";
import { postgresPlatform } from "../../src/platforms/postgres/platform.ts";
import { anyEngine } from "../support/clamd.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { newSchema, type TestPostgres, type TestPostgresOptions, testPostgres } from "../support/postgres.ts";
import { type TestService, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

interface Trouble {
  server: TestPostgres;
  service: TestService;
  schema: string;
  /** Ids of all jobs that were acknowledged. */
  taken: Set<string>;
  /** Submits one, which is acknowledged or refused as it must be. Answers the status. */
  submit(): Promise<number>;
  /** Waits until the service is not ready, and says so of the queue. */
  notReady(why: RegExp): Promise<void>;
  /** All that was acknowledged has its right result, and the service is ready. */
  allIsWell(): Promise<void>;
}

/** One process that does everything, on a database that troubles come over. */
async function trouble(options: TestPostgresOptions & { pool?: number } = {}): Promise<Trouble & AsyncDisposable> {
  await using undo = new AsyncDisposableStack();
  const files = undo.use(await fileServer());
  const server = undo.use(await testPostgres({ durable: true, ...options }));
  const schema = newSchema();
  const service = undo.use(
    await testService({
      platform: "postgres",
      postgresUrl: server.url,
      postgresSchema: schema,
      postgresPool: options.pool ?? 4,
      secretKey: randomBytes(32).toString("hex"),
      ...(await anyEngine()),
    }),
  );
  const taken = new Set<string>();
  const all = undo.move();
  return {
    server,
    service,
    schema,
    taken,
    async submit() {
      const trace_id = randomUUID();
      const answer = await service.call("/api/v1/scan/async/download", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ download_url: `${files.origin}/eicar`, trace_id }),
      });
      if (answer.status === 201) taken.add(trace_id);
      else {
        assert.equal(answer.status, 503);
        assert.ok(answer.headers.has("retry-after"));
        assert.equal(((await answer.json()) as { code: string }).code, "queue_unavailable");
      }
      return answer.status;
    },
    async notReady(why) {
      let said = "";
      const asked = async (): Promise<boolean> => {
        const answer = await fetch(`${service.url}/readyz?verbose`);
        const { checks } = (await answer.json()) as { checks: { name: string; ok: boolean; detail: string }[] };
        said = checks.find(({ name, ok }) => name === "queue" && !ok)?.detail ?? "";
        // On a busy machine it may be said first that there was no answer in time.
        return answer.status === 503 && why.test(said);
      };
      await until("it is not ready", asked).catch((error) => assert.match(said, why, error.message));
    },
    async allIsWell() {
      const result = async (traceId: string): Promise<string> => {
        const answer = await service.call(`/api/v1/scan/async/result?trace_id=${traceId}`);
        return answer.status === 200 ? ((await answer.json()) as { status: string }).status : String(answer.status);
      };
      for (const each of taken) {
        // A poll is refused while the database cannot be asked: that says nothing about the job.
        const found = async (): Promise<boolean> => !["404", "503"].includes(await result(each));
        await until(`${each} is done`, found, { limitMs: 90_000 });
        assert.equal(await result(each), "infected");
      }
      await until("it is ready", async () => (await fetch(`${service.url}/readyz`)).status !== 503);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

// Each has a server of its own, and most of its time it waits.
describe("a database in trouble", { concurrency: true }, () => {
  test("killed, stopped in good order, cut off: jobs are kept or refused, and all goes on by itself", async () => {
    await using all = await trouble();
    const { server, submit, notReady, allIsWell, service } = all;
    for (const end of [server.kill, () => server.stop("fast")]) {
      assert.equal(await submit(), 201);
      await end();
      // A process of a server that was killed may outlive it for a moment, and what that has written is as durable.
      await until("jobs are refused", async () => (await submit()) === 503);
      await notReady(/cannot use the job database at .*PGSQL.*: it cannot be reached; start the server/);
      await server.start();
      await until("jobs are taken again", async () => (await submit()) === 201);
    }
    const terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lazaret'";
    for (let round = 0; round < 10; round += 1) {
      const submitted = Promise.all([submit(), submit(), submit()]);
      await server.admin(terminate);
      assert.deepEqual(await submitted, [201, 201, 201], "a cut connection alone refuses nobody");
    }
    await allIsWell();
    const said = service.lines.filter(({ event }) => event === "queue");
    assert.ok(said.length <= 6, `${said.length} lines about the queue`);
  });

  test("a server that accepts and never answers, or that somebody locks, is said to be silent; nothing goes on behind it", async () => {
    await using all = await trouble({ pool: 2 });
    const { server, schema, submit, notReady, allIsWell } = all;
    assert.equal(await submit(), 201);
    {
      using _ = server.freeze();
      const submitted = Promise.all([submit(), submit(), submit(), submit()]);
      await notReady(/no answer within|does not answer in time|cannot be reached|are in use/);
      assert.deepEqual(await submitted, [503, 503, 503, 503]);
    }
    await until("jobs are taken again", async () => (await submit()) === 201);

    const locker = new pg.Client(server.url);
    await locker.connect();
    await locker.query(`BEGIN; LOCK TABLE ${schema}.jobs`);
    assert.equal(await submit(), 503);
    const stuck =
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query_start < now() - interval '9 s'";
    // What nobody waits for any more was cancelled, and does not wait for the lock.
    await until("nothing waits for long", async () => (await server.admin(stuck)).length === 0);
    await locker.end();
    await until("jobs are taken again", async () => (await submit()) === 201);
    await allIsWell();
  });

  test("limits that an administrator sets, no connection left and a server set to read only are named", async () => {
    await using all = await trouble();
    const { server, submit, notReady, allIsWell } = all;
    const set = async (text: string): Promise<void> => {
      await server.admin(`ALTER SYSTEM ${text}`);
      await server.admin("SELECT pg_reload_conf()");
    };
    const terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lazaret'";
    assert.equal(await submit(), 201);

    await set("SET default_transaction_read_only = on");
    await notReady(/takes no writes; it is a standby, or set to read only/);
    assert.equal(await submit(), 503);
    await set("RESET default_transaction_read_only");
    await until("jobs are taken again", async () => (await submit()) === 201);

    // Short enough to strike now and then; what is struck is tried again or refused.
    const limits = { idle_in_transaction_session_timeout: 2, statement_timeout: 10, lock_timeout: 1 };
    for (const [name, ms] of Object.entries(limits)) await server.admin(`ALTER ROLE lazaret SET ${name} = ${ms}`);
    await server.admin(terminate);
    for (let round = 0; round < 10; round += 1) await Promise.all([submit(), submit(), submit()]);
    await server.admin("ALTER ROLE lazaret RESET ALL");
    await server.admin(terminate);
    await until("jobs are taken again", async () => (await submit()) === 201);

    await server.admin("ALTER ROLE lazaret CONNECTION LIMIT 0");
    await server.admin(terminate);
    await notReady(/no connection left; raise max_connections there, or lower LAZARET_POSTGRES_POOL/);
    assert.equal(await submit(), 503);
    await server.admin("ALTER ROLE lazaret CONNECTION LIMIT -1");
    await until("jobs are taken again", async () => (await submit()) === 201);
    await allIsWell();
  });

  test("a server that does not answer a process that starts is asked again, and one that is not there is told at once", async () => {
    await using server = await testPostgres({ durable: true });
    const said: unknown[] = [];
    using frozen = new DisposableStack();
    frozen.use(server.freeze());
    const log = Object.assign(() => {}, {
      debug() {},
      error(event: string, { error, hint }: { error?: unknown; hint?: unknown } = {}) {
        said.push(event, error, hint);
        frozen.dispose();
      },
    });
    const start = (): Promise<Platform> =>
      postgresPlatform({
        ...{ url: server.url, pool: 2, schema: newSchema(), migrate: true, secretKey: randomBytes(32) },
        ...{ stackName: "trouble", now: Date.now, log, sending: async () => undefined },
        receivers: { subscriptions: [], targets: [] },
      });
    const platform = await start();
    await platform.tryToWrite?.();
    await platform.close();
    assert.match(
      said.splice(0).join(" "),
      /^database cannot use the job database at \/\S+: it does not answer in time look for .*; it is asked again for 20 seconds$/,
    );
    // So a server answers that is about to start.
    const starting = Object.assign(new Error("the database system is starting up"), { code: "57P03" });
    assert.equal(unavailableFrom(starting, "here")?.kind, "late");
    await server.stop("fast");
    await assert.rejects(start(), { message: /^cannot use the job database at \/\S+: it cannot be reached$/ });
    assert.deepEqual(said, []);
  });

  test("a full disk of the database: jobs are refused, those before are kept, and with room all goes on by itself", async (t) => {
    if (process.getuid?.() !== 0) return t.skip("needs a disk of its own, which only root can make");
    using disk = smallDisk();
    await using all = await trouble({ dataIn: disk.path });
    const { submit, notReady, allIsWell } = all;
    assert.equal(await submit(), 201);
    const filler = join(disk.path, "filler");
    const { bavail, bsize } = statfsSync(disk.path);
    writeFileSync(filler, Buffer.alloc(bavail * bsize));
    await until("jobs are refused", async () => (await submit()) === 503, { limitMs: 60_000 });
    await notReady(/the disk is full; free some space there; jobs accepted so far are kept/);
    rmSync(filler);
    await until("jobs are taken again", async () => (await submit()) === 201);
    await allIsWell();
  });
});

function smallDisk(): { path: string } & Disposable {
  const folder = temporaryFolder();
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=80m,mode=777", "tmpfs", folder.path]);
  return {
    path: folder.path,
    [Symbol.dispose]() {
      execFileSync("umount", [folder.path]);
      folder[Symbol.dispose]();
    },
  };
}
