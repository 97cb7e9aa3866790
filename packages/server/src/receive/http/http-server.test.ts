import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { selfSigned } from "../../../test/support/self-signed.ts";
import { until } from "../../../test/support/until.ts";
import { log } from "../../log.ts";
import type { Answer, ApiRequest } from "../request-answer.ts";
import { type HttpServerOptions, type RunningServer, startHttpServer } from "./http-server.ts";

const silent = log({ level: "silent", format: "json", write() {} });

async function started(
  handle: (request: ApiRequest) => Promise<Answer>,
  options: Partial<HttpServerOptions> = {},
): Promise<RunningServer & AsyncDisposable> {
  const server = await startHttpServer({ host: "127.0.0.1", port: 0, handle, log: silent, ...options });
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close(0) });
}

function certificate(folder: string): { certPath: string; keyPath: string } {
  const { cert, key } = selfSigned("IP:127.0.0.1");
  const paths = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
  writeFileSync(paths.certPath, cert);
  writeFileSync(paths.keyPath, key);
  return paths;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const large = Buffer.alloc(256 * 1024, "x");

function reader(socket: Socket): { answers(): number; closed(): boolean } {
  let text = "";
  socket.on("error", () => {});
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part.replaceAll("x", "");
  });
  return { answers: () => text.split("HTTP/1.1 200").length - 1, closed: () => socket.destroyed };
}

for (const tls of [false, true]) {
  describe(`requests sent at once${tls ? ", over TLS" : ""}`, () => {
    async function begin(): Promise<
      { open(): Socket; paths: string[]; first: PromiseWithResolvers<void> } & AsyncDisposable
    > {
      const folder = temporaryFolder();
      const paths: string[] = [];
      const first = Promise.withResolvers<void>();
      const server = await started(
        async ({ path }) => {
          paths.push(path);
          if (path === "/first") await first.promise;
          return { status: 200, text: "fine" };
        },
        tls ? { tls: certificate(folder.path) } : {},
      );
      const { port } = server;
      return {
        paths,
        first,
        open: () =>
          tls
            ? connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false })
            : connect({ host: "127.0.0.1", port }),
        async [Symbol.asyncDispose]() {
          await server[Symbol.asyncDispose]();
          folder[Symbol.dispose]();
        },
      };
    }

    test("are both answered, one after the other, if they are two", async () => {
      await using server = await begin();
      const socket = server.open();
      const { answers, closed } = reader(socket);
      socket.write(get("/first") + get("/second"));
      await until("the first is under way", () => server.paths.length > 0);
      for (let turns = 0; turns < 50; turns += 1) await new Promise(setImmediate);
      assert.deepEqual(server.paths, ["/first"]);
      server.first.resolve();
      await until("both are answered", () => answers() === 2);
      assert.deepEqual([server.paths, closed()], [["/first", "/second"], false]);
      socket.destroy();
    });

    test("get one answer, which closes the connection, if they are more; others are served meanwhile", async () => {
      await using server = await begin();
      const socket = server.open();
      const { answers, closed } = reader(socket);
      socket.write(get("/first") + get("/more").repeat(50));
      await until("the first is under way", () => server.paths.length > 0);
      const other = server.open();
      const others = reader(other);
      other.write(get("/other"));
      await until("another is served", () => others.answers() === 1);
      server.first.resolve();
      await until("the connection is closed", closed);
      assert.deepEqual([answers(), server.paths], [1, ["/first", "/other"]]);
      other.destroy();
    });

    test("end the connection if they are a flood", async () => {
      await using server = await begin();
      const socket = server.open();
      const { answers, closed } = reader(socket);
      socket.write(get("/first") + get("/more").repeat(1000));
      await until("the connection is closed", closed);
      server.first.resolve();
      assert.equal(answers(), 0);
      assert.ok(server.paths.length <= 1, `${server.paths}`);
    });
  });
}

test("a client that leaves its answer unread is cut off after a while", async () => {
  const asked = Promise.withResolvers<void>();
  const content = Buffer.alloc(64 * 1024 * 1024);
  const server = await startHttpServer({
    host: "127.0.0.1",
    port: 0,
    log: silent,
    timings: { unreadMs: 100 },
    async handle() {
      asked.resolve();
      return { status: 200, rendered: { type: "text/plain", content } };
    },
  });
  const deaf = connect({ host: "127.0.0.1", port: server.port });
  deaf.on("error", () => {});
  deaf.pause();
  deaf.write(get("/"));
  await asked.promise;
  let ended = false;
  const closing = server.close(600_000).then(() => {
    ended = true;
  });
  try {
    await until("the server is rid of it", () => ended);
  } finally {
    deaf.destroy();
    await closing;
  }
});

test("a proxy that sends on without looking is made to wait, and then finds the answer that refused it", async () => {
  await using server = await started(async () => ({ status: 401, text: "no" }), { timings: { lingerMs: 600_000 } });
  const socket = connect({ host: "127.0.0.1", port: server.port });
  let failed: Error | undefined;
  socket.on("error", (error) => {
    failed = error;
  });
  socket.pause();
  // More than both sides of a connection can hold.
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${256 * large.length}\r\n\r\n`);
  let sent = 0;
  const sendOn = (error?: Error | null): void => {
    if (error || sent === 256) return;
    sent += 1;
    socket.write(large, sendOn);
  };
  sendOn();
  let before = 0;
  await until("nothing more is taken", () => {
    const isStill = sent > 4 && sent === before;
    before = sent;
    return isStill || failed !== undefined;
  });
  let answer = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    answer += part;
  });
  socket.resume();
  await until("it is answered, or cut", () => answer !== "" || failed !== undefined);
  assert.match(answer, /^HTTP\/1\.1 401 /);
  assert.equal(failed, undefined);
  socket.destroy();
});

test("when the server closes, two requests that were sent at once are both answered, and the last answer closes", async () => {
  const first = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  await using server = await started(async () => {
    begun.resolve();
    await first.promise;
    return { status: 200, text: "fine" };
  });
  const socket = connect({ host: "127.0.0.1", port: server.port });
  const { answers, closed } = reader(socket);
  socket.write(get("/").repeat(2));
  await begun.promise;
  const ended = server.close(30_000);
  first.resolve();
  await ended;
  await until("the connection is closed", closed);
  assert.equal(answers(), 2);
});

test("behind a request for another protocol no body becomes a request: all are answered, or its answer closes", async () => {
  const paths: string[] = [];
  await using server = await started(async ({ path }) => {
    paths.push(path);
    return { status: 200, text: "fine" };
  });
  const asking = "GET /u HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
  const body = get("/smuggled");
  const behind = `POST /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  // At once; and cut in the middle of the blank line, so that what is behind it is parsed with its last byte.
  for (const cut of [0, asking.length - 1]) {
    paths.length = 0;
    const socket = connect({ host: "127.0.0.1", port: server.port, noDelay: true });
    const { answers, closed } = reader(socket);
    socket.write(asking.slice(0, cut));
    await new Promise((resolve) => setTimeout(resolve, cut > 0 ? 50 : 0));
    socket.write(`${asking.slice(cut)}${behind}`);
    await until("the connection is closed", closed);
    assert.ok(paths.length > 0);
    assert.deepEqual(["/u", "/next"].slice(0, paths.length), paths);
    assert.equal(answers(), paths.length);
  }
});

test("a request whose connection was made before the server closes is answered; who says nothing is not waited for", async () => {
  const server = await started(async () => ({ status: 200, rendered: { type: "text/plain", content: large } }));
  let arrived = 0;
  const sockets = Array.from({ length: 2 }, () => connect(server.port, "127.0.0.1", () => (arrived += 1)));
  const [asking, mute] = sockets.map(reader);
  await until("both are connected", () => arrived === 2);
  const closed = server.close(10_000);
  // By then nobody else can connect.
  await until("it does not listen", () => refuses(server.port));
  sockets[0]?.write(get("/"));
  await until("it is answered, and the connection closed", () => asking?.answers() === 1 && asking.closed());
  await closed;
  await until("the other is closed", () => mute?.closed() === true);
});

function refuses(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(true));
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
  });
}

test("nothing is kept of clients that hung up, with a request under way or after its answer", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const accepted: WeakRef<object>[] = [];
  const onSocket = (message: unknown): void => {
    accepted.push(new WeakRef((message as { socket: Socket }).socket));
  };
  subscribe("net.server.socket", onSocket);
  let asked = 0;
  await using server = await started(async (request) => {
    asked += 1;
    if (request.path === "/slow") await once(request.signal, "abort");
    return { status: 204 };
  });
  for (const path of ["/slow", "/soon", "/slow", "/soon"]) {
    const client = connect({ host: "127.0.0.1", port: server.port });
    const before = asked;
    client.write(get(path));
    await (path === "/slow" ? until("it is under way", () => asked > before) : once(client, "data"));
    client.destroy();
    await once(client, "close");
  }
  unsubscribe("net.server.socket", onSocket);
  assert.equal(accepted.length, 4);
  await until("all are gone", () => {
    gc();
    return accepted.every((socket) => socket.deref() === undefined);
  });
});
