import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { type Connection, oneAtATime } from "./one-at-a-time.ts";

interface Taken {
  url: string;
  message: IncomingMessage;
  response: ServerResponse;
  connection: Connection | undefined;
}

/** node:http with nothing but connections that give out one request at a time. */
async function server(
  onTurn: (taken: Taken) => unknown,
): Promise<
  { port: number; parsed: string[]; onConnection(listener: (socket: Socket) => void): void } & AsyncDisposable
> {
  const connections = new Map<Socket, Connection>();
  const parsed: string[] = [];
  const http = createServer(async (message, response) => {
    parsed.push(message.url ?? "");
    const connection = connections.get(message.socket);
    await connection?.turn(message, response);
    await onTurn({ url: message.url ?? "", message, response, connection });
  });
  http.on("connection", (socket: Socket) => connections.set(socket, oneAtATime(socket)));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    port: (http.address() as AddressInfo).port,
    parsed,
    onConnection: (listener) => void http.on("connection", listener),
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

function client(port: number): Socket & Disposable {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  socket.on("error", () => {});
  return Object.assign(socket, { [Symbol.dispose]: () => void socket.destroy() });
}

test("of a thousand requests sent at once the next is parsed when the one before is answered", async () => {
  const count = 1000;
  const first = Promise.withResolvers<Taken>();
  let answered = 0;
  await using http = await server(async (taken) => {
    if (taken.url === "/0") {
      first.resolve(taken);
      return;
    }
    assert.equal(taken.url, `/${answered}`);
    answered += 1;
    taken.response.end("x");
  });
  using socket = client(http.port);
  let received = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    received += part;
  });
  socket.write(Array.from({ length: count }, (_, at) => `GET /${at} HTTP/1.1\r\nHost: x\r\n\r\n`).join(""));
  const taken = await first.promise;
  for (let turns = 0; turns < 100; turns += 1) await turn();
  assert.deepEqual(http.parsed, ["/0"]);
  answered = 1;
  taken.response.end("x");
  await until("every request is answered", () => received.split("HTTP/1.1 200").length === count + 1);
  assert.equal(answered, count);
});

test("whatever the pieces a stream of requests comes in, each has its own body and its turn", async () => {
  const bodies = fc.array(
    fc.record({
      chunked: fc.boolean(),
      body: fc.array(fc.constantFrom("\r\n\r\n", "0\r\n\r\n", "a", "GET / HTTP/1.1\r\n\r\n", "x".repeat(1500)), {
        maxLength: 6,
      }),
    }),
    { minLength: 1, maxLength: 6 },
  );
  const seen: string[] = [];
  let underWay = 0;
  await using http = await server(async ({ message, response }) => {
    underWay += 1;
    assert.equal(underWay, 1);
    let body = "";
    for await (const part of message.setEncoding("latin1")) body += part;
    seen.push(body);
    underWay -= 1;
    response.end();
  });
  await fc.assert(
    fc.asyncProperty(bodies, fc.array(fc.integer({ min: 1, max: 4000 }), { maxLength: 30 }), async (requests, cuts) => {
      seen.length = 0;
      const sent = requests.map(({ body }) => body.join(""));
      let text = requests.map(({ chunked }, at) => request(sent[at] ?? "", chunked)).join("");
      using socket = client(http.port);
      socket.resume();
      for (const cut of cuts) {
        socket.write(text.slice(0, cut), "latin1");
        text = text.slice(cut);
        await turn();
      }
      socket.write(text, "latin1");
      await until("all of them have had their turn", () => seen.length === sent.length);
      assert.deepEqual(seen, sent);
    }),
    { numRuns: 60 },
  );
});

test("no request behind a body of a known length is parsed before it is answered, wherever its headers end", async () => {
  const first = Promise.withResolvers<Taken>();
  await using http = await server((taken) => {
    if (taken.url === "/first") first.resolve(taken);
    else taken.response.end();
  });
  using socket = client(http.port);
  socket.resume();
  // Its headers end in the middle of what is parsed together, which goes on to the first blank line of the body.
  const body = `${"x".repeat(2000)}\r\n\r\n${"x".repeat(3000)}`;
  socket.write(`POST /first HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r`);
  for (let turns = 0; turns < 10; turns += 1) await turn();
  socket.write(`\n${body}${"GET /more HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50)}`);
  const { message, response } = await first.promise;
  assert.equal((await buffer(message)).toString(), body);
  assert.deepEqual(http.parsed, ["/first"]);
  response.end();
  await until("every other has been answered", () => http.parsed.length === 51);
});

test("nor are many behind a body of which a part was parsed before its turn", async () => {
  const taken: Taken[] = [];
  await using http = await server((one) => void taken.push(one));
  using socket = client(http.port);
  socket.resume();
  // The end of the first is not searched for, so that the second is parsed with it, and most of its body.
  socket.write(
    [
      "POST /first HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
      "POST /second HTTP/1.1\r\nHost: x\r\nContent-Length: 30000\r\n\r\n",
      "y".repeat(29_990),
    ].join(""),
  );
  await until("the first has its turn", () => taken.length === 1);
  taken[0]?.response.end();
  await until("the second has its turn", () => taken.length === 2);
  socket.write(`${"y".repeat(10)}${"GET /more HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1500)}`);
  assert.ok(taken[1]);
  assert.equal((await buffer(taken[1].message)).toString(), "y".repeat(30_000));
  assert.ok(http.parsed.length < 100, `${http.parsed.length} were parsed`);
});

/** Their bodies look like requests, of which none was sent. */
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
const behind = `POST /next HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`;
const asking = "Host: x\r\nConnection: upgrade\r\nUpgrade: x";

/** Each is read by itself. */
async function writeApart(socket: Socket, other: Socket, writes: readonly string[]): Promise<void> {
  let written = 0;
  for (const write of writes) {
    socket.write(write);
    written += write.length;
    await until("it is read", () => other.bytesRead === written || other.destroyed);
  }
}

async function seenOf(...writes: string[]): Promise<{ seen: string[]; isLast: boolean }> {
  const seen: string[] = [];
  let isLast = false;
  let closed = false;
  await using http = await server(async ({ url, message, response, connection }) => {
    seen.push(`${url} ${(await buffer(message)).length}`);
    isLast = connection?.last === true;
    response.shouldKeepAlive = !isLast && url !== "/next";
    response.end();
  });
  const connected = Promise.withResolvers<Socket>();
  http.onConnection(connected.resolve);
  using socket = client(http.port);
  socket.resume().once("close", () => {
    closed = true;
  });
  await writeApart(socket, await connected.promise, writes);
  await until("all is answered", () => closed);
  return { seen, isLast };
}

test("behind a request that asks for another protocol each body stays a body", async () => {
  const body = "x".repeat(2000);
  const withBody = `POST /u HTTP/1.1\r\n${asking}\r\nContent-Length: 2000\r\n\r\n${body}`;
  assert.deepEqual(await seenOf(withBody + behind), { seen: ["/u 2000", `/next ${smuggled.length}`], isLast: false });
  const without = `GET /u HTTP/1.1\r\n${asking}\r\n\r\n`;
  assert.deepEqual(await seenOf(without + behind), { seen: ["/u 0", `/next ${smuggled.length}`], isLast: false });
});

test("where it is not sure what was forgotten behind it, it is the last request of its connection", async () => {
  const without = `GET /u HTTP/1.1\r\n${asking}\r\n\r`;
  assert.deepEqual(await seenOf(without, `\n${behind}`), { seen: ["/u 0"], isLast: true });
  const chunked = `POST /u HTTP/1.1\r\n${asking}\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`;
  assert.deepEqual(await seenOf(chunked + behind), { seen: ["/u 1"], isLast: true });
  // Its headers begin in what is parsed with the end of another.
  const first = "POST /first HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  assert.deepEqual(await seenOf(first + without, `\n${behind}`), { seen: ["/first 0", "/u 0"], isLast: true });

  const answers: string[] = [];
  await using http = await server(({ response }) => void response.end("and the connection stays"));
  const connected = Promise.withResolvers<Socket>();
  http.onConnection(connected.resolve);
  using socket = client(http.port);
  socket.on("data", (part) => void answers.push(String(part)));
  await writeApart(socket, await connected.promise, [without, `\n${behind}`]);
  await until("it is answered", () => answers.join("").includes("stays"));
  for (let turns = 0; turns < 50; turns += 1) await turn();
  assert.deepEqual(http.parsed, ["/u"]);
});

test("one that was parsed before its turn has none", async () => {
  const first = "POST /first HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
  const { seen } = await seenOf(`${first}GET /u HTTP/1.1\r\n${asking}\r\nX: ${"x".repeat(900)}\r\n\r\n${behind}`);
  assert.deepEqual(seen, ["/first 1"]);
});

test("a client that leaves in the middle of its requests takes those that wait with it", async () => {
  const begun: Taken[] = [];
  await using http = await server((taken) => void begun.push(taken));
  const socket = client(http.port);
  socket.write("GET /a HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50));
  await until("the first is begun", () => begun.length === 1);
  socket.destroy();
  await until("the answer cannot leave", () => {
    begun[0]?.response.write("x");
    return begun[0]?.response.destroyed === true;
  });
  await turn();
  assert.deepEqual([begun.length, http.parsed.length], [1, 1]);
});

function request(body: string, chunked: boolean): string {
  const head = "POST / HTTP/1.1\r\nHost: x\r\n";
  if (!chunked) return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  const chunk = body === "" ? "" : `${body.length.toString(16)}\r\n${body}\r\n`;
  return `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`;
}
