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
  describe(`requests sent at once by a client that does not read${tls ? ", over TLS" : ""}`, () => {
    test("are not answered ahead of it, others are, and when it reads it gets every answer", async () => {
      const count = 300;
      let made = 0;
      let underWay = 0;
      using folder = temporaryFolder();
      await using server = await started(
        async (request) => {
          if (request.path === "/small") return { status: 204 };
          underWay += 1;
          assert.equal(underWay, 1, "one at a time");
          await new Promise(setImmediate);
          underWay -= 1;
          made += 1;
          return { status: 200, rendered: { type: "text/plain", content: large } };
        },
        tls ? { tls: certificate(folder.path) } : {},
      );
      const { port } = server;
      const open = (): Socket =>
        tls ? connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false }) : connect({ host: "127.0.0.1", port });
      const deaf = open();
      deaf.pause();
      deaf.on("error", () => {});
      deaf.write(get("/large").repeat(count));
      await until("it is being answered", () => made > 0);
      for (let asked = 0; asked < 50; asked += 1) {
        const other = open();
        other.on("error", () => {});
        other.write(get("/small"));
        const [head] = await new Promise<string[]>((resolve) => {
          other.setEncoding("latin1").once("data", (part: string) => resolve(part.split("\r\n")));
        });
        assert.equal(head, "HTTP/1.1 204 No Content");
        other.destroy();
      }
      // What the operating system keeps for both sides is a few megabytes; all answers are 75.
      assert.ok(made < count / 2, `${made} of ${count} answers were made for nobody`);
      const { answers } = reader(deaf);
      deaf.resume();
      await until("all answers have arrived", () => answers() === count, { limitMs: 30_000 });
      assert.equal(made, count);
      deaf.destroy();
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

test("when the server closes, requests that were sent at once are all answered, and the last answer closes", async () => {
  const first = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  await using server = await started(async () => {
    begun.resolve();
    await first.promise;
    return { status: 200, text: "fine" };
  });
  const socket = connect({ host: "127.0.0.1", port: server.port });
  const { answers, closed } = reader(socket);
  socket.write(get("/").repeat(20));
  await begun.promise;
  const ended = server.close(30_000);
  first.resolve();
  await ended;
  await until("the connection is closed", closed);
  assert.equal(answers(), 20);
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

test("who comes while a busy server is about to close is answered, however long it is held back", async () => {
  const server = await started(async () => ({ status: 200, text: "fine" }));
  // Every turn of the event loop takes so long that none is quiet for more than a second.
  const busy = setInterval(() => {
    const end = performance.now() + 60;
    while (performance.now() < end);
  }, 1);
  const closed = server.close(60_000).finally(() => clearInterval(busy));
  const socket = connect(server.port, "127.0.0.1");
  const { answers, closed: isClosed } = reader(socket);
  socket.write(get("/"));
  await closed;
  await until("its connection is closed", isClosed);
  assert.equal(answers(), 1);
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
