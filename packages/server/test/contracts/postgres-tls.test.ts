import assert from "node:assert/strict";
import { once } from "node:events";
import { chownSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { connections } from "../../src/platforms/postgres/database/connections.ts";
import { DatabaseUnavailable } from "../../src/platforms/postgres/database/database-unavailable.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import { environment, ownedFolder, testPostgres } from "../support/postgres.ts";
import { selfSigned } from "../support/self-signed.ts";
import { until } from "../support/until.ts";

const PASSWORD = "canary / % ü";

/** Somebody may take it before the server does; the next run has another. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "localhost");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A server on the loopback interface that wants TLS and a password there. Its certificate is for `localhost`. */
async function tlsServer() {
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(ownedFolder());
  const { uid, gid } = environment();
  const put = (name: string, text: string): string => {
    const path = join(folder.path, name);
    writeFileSync(path, text, { mode: 0o600 });
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
    return path;
  };
  const own = selfSigned("DNS:localhost");
  const cert = put("server.pem", own.cert);
  const key = put("server-key.pem", own.key);
  const other = put("other.pem", selfSigned("DNS:localhost").cert);
  const port = await freePort();
  const server = undo.use(
    await testPostgres({
      settings: { listen_addresses: "localhost", port, ssl_cert_file: cert, ssl_key_file: key },
      access: ["hostssl all all all scram-sha-256", "hostnossl all all all reject"],
    }),
  );
  await server.admin(`ALTER ROLE lazaret PASSWORD '${PASSWORD}'`);
  const tls = async (value: "on" | "off"): Promise<void> => {
    await server.admin(`ALTER SYSTEM SET ssl = ${value}`);
    await server.admin("SELECT pg_reload_conf()");
    const shown = async () => (await server.admin<{ ssl: string }>("SHOW ssl"))[0]?.ssl;
    await until("it is so", async () => (await shown()) === value);
  };
  await tls("on");
  const all = undo.move();
  return { server, tls, port, cert, other, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function encrypted(url: string): Promise<boolean | undefined> {
  const ways = connections({ url, pool: 1 });
  try {
    const [row] = await ways.query<{ ssl: boolean }>("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    return row?.ssl;
  } finally {
    await ways.close();
  }
}

test("TLS is what sslmode asks for or an error that says what is wrong; the password is in none of them", async () => {
  await using parts = await tlsServer();
  const { server, tls, port, cert, other } = parts;
  const login = `lazaret:${encodeURIComponent(PASSWORD)}`;
  const url = (more: string, host = "localhost"): string => `postgresql://${login}@${host}:${port}/lazaret${more}`;

  for (const good of [
    url("?sslmode=require"),
    url(`?sslmode=verify-ca&sslrootcert=${cert}`),
    url(`?sslmode=verify-ca&sslrootcert=${cert}`, "127.0.0.1"),
    url(`?sslmode=verify-full&sslrootcert=${cert}`),
    `host=localhost port=${port} user=lazaret dbname=lazaret password='${PASSWORD}' sslmode=verify-full sslrootcert=${cert}`,
  ]) {
    assert.equal(await encrypted(good), true, good);
  }
  assert.equal(await encrypted(server.url), false, "over the socket of this machine");

  const bad: Record<string, RegExp> = {
    [url(`?sslmode=verify-full&sslrootcert=${other}`)]: /at localhost:\d+: its certificate is not trusted; sslrootcert/,
    [url(`?sslmode=verify-ca&sslrootcert=${other}`)]: /its certificate is not trusted/,
    [url("?sslmode=verify-full")]: /its certificate is not trusted/,
    [url(`?sslmode=verify-full&sslrootcert=${cert}`, "127.0.0.1")]:
      /at 127.0.0.1:\d+: its certificate is for another name/,
    [url("?sslmode=verify-full&sslrootcert=/nowhere.pem")]: /cannot read \/nowhere.pem/,
    [url("?sslmode=verify-full&sslrootcert=/etc/hostname")]: /its certificate is not trusted/,
    [url("")]: /access is refused; .* where pg_hba.conf wants TLS, add \?sslmode=verify-full/,
    [url("?sslmode=require").replace("canary", "wrong-canary")]: /access is refused; .* user and password/,
    [`postgresql://lazaret@localhost:${port}/lazaret?sslmode=require`]: /access is refused/,
    [url("x?sslmode=require")]: /there is no such database; make it/,
    [url("?sslmode=prefer")]: /cannot use LAZARET_POSTGRES_URL: it has an sslmode that is not/,
  };
  const assertSaid = async (text: string, expected: RegExp): Promise<void> => {
    await assert.rejects(encrypted(text), (error: DatabaseUnavailable) => {
      assert.ok(error instanceof DatabaseUnavailable, `${text}: ${error}`);
      const said = `${error.message}; ${error.hint}; ${String(error.cause)}; ${error.stack}`;
      assert.match(said, expected, text);
      assert.doesNotMatch(said, /canary/);
      return true;
    });
  };
  for (const [text, expected] of Object.entries(bad)) await assertSaid(text, expected);

  await tls("off");
  await assertSaid(url("?sslmode=require"), /it offers no TLS; set ssl = on there/);
  await server.stop("fast");
  await assertSaid(url("?sslmode=require"), /it cannot be reached; start the server/);
  await assertSaid(
    `postgresql://${login}@no-such-host.invalid/lazaret`,
    /at no-such-host.invalid:5432: it cannot be reached/,
  );
});

test("the URL may come from a file, and a wrong one is not shown", () => {
  const read = (text: string): ReturnType<typeof readSettings> =>
    readSettings({ flags: {}, env: { LAZARET_POSTGRES_URL_FILE: "/x" }, file: {}, readSecretFile: () => text });
  const good = read("postgresql://u:canary@a:1,b:2/db?sslmode=verify-full");
  assert.ok(good.kind === "ok");
  assert.equal(good.settings.postgresUrl, "postgresql://u:canary@a:1,b:2/db?sslmode=verify-full");
  const bad = read("postgresql://u:canary@a:1,b:2/db?sslmode=prefer");
  assert.ok(bad.kind === "problems");
  assert.match(JSON.stringify(bad.problems), /sslmode that is not/);
  assert.doesNotMatch(JSON.stringify(bad.problems), /canary/);
});
