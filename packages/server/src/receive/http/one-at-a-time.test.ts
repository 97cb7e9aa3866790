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
    await connections.get(message.socket)?.turn(message, response);
    await onTurn({ url: message.url ?? "", message, response });
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

test("of the requests behind a body one is parsed at most before it is answered, wherever its headers end", async () => {
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
  assert.ok(http.parsed.length <= 2, `${http.parsed.length} were parsed`);
  response.end();
  await until("every other has been answered", () => http.parsed.length === 51);
});

test("what was read from a connection keeps no memory once it is parsed, and every byte of the body has arrived", async () => {
  const body = Buffer.alloc(1024 * 1024, "0123456789");
  const received = Promise.withResolvers<Buffer>();
  await using http = await server(async ({ message, response }) => {
    received.resolve(await buffer(message));
    response.end();
  });
  const read: Buffer[] = [];
  http.onConnection((connection) => void connection.on("data", (bytes: Buffer) => void read.push(bytes)));
  using socket = client(http.port);
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`);
  socket.write(body);
  assert.ok((await received.promise).equals(body));
  assert.ok(read.length > 0);
  assert.ok(read.every(({ byteLength }) => byteLength === 0));
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
