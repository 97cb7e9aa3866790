import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { type LogFields, log } from "../../log.ts";
import { type RunningServer, startHttpServer } from "../http/http-server.ts";
import { type Problem, problemAnswer } from "../problem.ts";
import type { Answer, ApiRequest } from "../request-answer.ts";
import type { Route } from "../route.ts";
import { answerRelayed, relay, relayedRoutes } from "./relay.ts";

type Answering = (request: ApiRequest) => Promise<Answer>;

interface Relayed extends AsyncDisposable {
  url: string;
  port: number;
  /** The lines of the process that was asked. */
  lines: LogFields[];
  first: RunningServer;
  second: RunningServer;
}

/** Two servers as those of two processes: the second relays what it is asked to the first. */
async function relayed(handle: Answering): Promise<Relayed> {
  const folder = temporaryFolder();
  const path = join(folder.path, "console");
  const lines: LogFields[] = [];
  const silent = log({ level: "silent", format: "json", write() {} });
  const kept = log({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(String(line))) });
  const ask = relay(path);
  const first = await startHttpServer({ host: "", port: 0, path, log: silent, handle: answerRelayed(handle) });
  const second = await startHttpServer({
    host: "127.0.0.1",
    port: 0,
    log: kept,
    handle: async (request) => {
      try {
        return await ask(request, {} as Parameters<typeof ask>[1]);
      } catch (error) {
        return problemAnswer(error as Problem, request.id);
      }
    },
  });
  return {
    url: `http://127.0.0.1:${second.port}`,
    port: second.port,
    lines,
    first,
    second,
    async [Symbol.asyncDispose]() {
      await Promise.all([first.close(0), second.close(0)]);
      folder[Symbol.dispose]();
    },
  };
}

const bytesOf = async (request: ApiRequest): Promise<number> => {
  let length = 0;
  for await (const chunk of request.body) length += chunk.length;
  return length;
};

test("what is asked and answered is the same on the other side; the line in the log is that of who was asked", async () => {
  await using service = await relayed(async (request) => {
    request.note({ key: "admin-1", error: "ünïcode 🦠" });
    const { method, path, remote, headers, id } = request;
    const [query, length] = [request.query.get("q"), await bytesOf(request)];
    const json = { method, path, remote, query, length, forwarded: headers["x-forwarded-for"], id };
    return { status: 201, headers: { "Set-Cookie": "a=b; HttpOnly", "Content-Security-Policy": "none" }, json };
  });
  for (const body of [undefined, "small", Buffer.alloc(5_000_000), new Blob(["x".repeat(300_000)]).stream()]) {
    const response = await fetch(`${service.url}/admin/v1/some%20thing?q=%C3%A4%26b`, {
      method: "POST",
      headers: { "X-Forwarded-For": "192.0.2.7", "X-Lazaret-Asked-For": "192.0.2.7", "X-Request-Id": "mine" },
      ...(body !== undefined && { body, duplex: "half" }),
    });
    const length = typeof body === "string" ? 5 : body instanceof Buffer ? 5_000_000 : body === undefined ? 0 : 300_000;
    assert.deepEqual(await response.json(), {
      method: "POST",
      path: "/admin/v1/some%20thing",
      remote: "127.0.0.1",
      query: "ä&b",
      length,
      forwarded: "192.0.2.7",
      id: "mine",
    });
    assert.equal(response.status, 201);
    assert.equal(response.headers.get("set-cookie"), "a=b; HttpOnly");
    assert.equal(response.headers.get("content-security-policy"), "none");
    assert.equal(response.headers.get("content-type"), "application/json; charset=utf-8");
    assert.equal(response.headers.get("x-request-id"), "mine");
    assert.equal(response.headers.get("x-lazaret-notes"), null);
    assert.equal(response.headers.get("connection"), "keep-alive");
  }
  assert.deepEqual(
    service.lines.map(({ key, error, status }) => [key, error, status]),
    Array(4).fill(["admin-1", "ünïcode 🦠", 201]),
  );
});

test("answers of all kinds: none, HEAD, a stream that is long, a stream that breaks", async () => {
  async function* long(): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < 40; count += 1) yield Buffer.alloc(65_536, "x");
  }
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("half");
    throw new Error("the store is gone");
  }
  await using service = await relayed(async ({ path }) => {
    if (path === "/none") return { status: 204 };
    if (path === "/json") return { status: 200, json: { some: "thing" } };
    return { status: 200, stream: { bytes: path === "/long" ? long() : broken() } };
  });
  const none = await fetch(`${service.url}/none`);
  assert.deepEqual([none.status, none.headers.get("content-length")], [204, null]);
  const head = await fetch(`${service.url}/json`, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("content-length")], [200, "16"]);
  assert.equal((await (await fetch(`${service.url}/long`)).bytes()).length, 40 * 65_536);
  await assert.rejects((await fetch(`${service.url}/broken`)).text());
});

test("who waits for 100 Continue is told what the first says, and an early answer ends an upload", async () => {
  let read = 0;
  await using service = await relayed(async (request) => {
    if (request.path === "/read") read += await bytesOf(request);
    return { status: request.path === "/read" ? 200 : 401, json: {} };
  });
  const expecting = async (path: string): Promise<string> => {
    const socket = connect(service.port, "127.0.0.1");
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`;
    socket.write(head);
    const [answered] = (await once(socket, "data")) as [Buffer];
    if (answered.toString().startsWith("HTTP/1.1 100")) socket.write("hello");
    return `${answered}${await text(socket)}`;
  };
  assert.match(await expecting("/refused"), /^HTTP\/1.1 401 /);
  assert.match(await expecting("/read"), /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /);
  assert.equal(read, 5);
  // More than is thrown away before the connection is cut: a client that only sends may not come to read the answer.
  const socket = connect(service.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\n");
  socket.write(Buffer.alloc(500_000));
  const [answered] = (await once(socket, "data")) as [Buffer];
  assert.match(answered.toString(), /^HTTP\/1.1 401 /);
  socket.destroy();
});

test("events come as they are told, and end on the first's side when the client goes or the second drains", async () => {
  let listening = 0;
  await using service = await relayed(async ({ signal }) => {
    async function* events(): AsyncGenerator<string> {
      listening += 1;
      try {
        yield "data: ä\n\n";
        await once(signal, "abort");
      } finally {
        listening -= 1;
      }
    }
    return { status: 200, events: events() };
  });
  const leave = new AbortController();
  const response = await fetch(`${service.url}/events`, { signal: leave.signal });
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const reader = response.body?.getReader();
  assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), "data: ä\n\n");
  leave.abort();
  await reader?.read().catch(() => {});
  await until("the first knows that the client has gone", () => listening === 0);

  const again = await fetch(`${service.url}/events`);
  await until("it listens", () => listening === 1);
  service.second.drain();
  assert.equal(await again.text(), "data: ä\n\n");
  await until("the first knows that the second ends", () => listening === 0);
});

test("while the first is not there the answer is 503, also when it goes in the middle", async () => {
  let asked = 0;
  await using service = await relayed(async () => {
    asked += 1;
    return new Promise<never>(() => {});
  });
  const waiting = fetch(`${service.url}/admin/v1/tasks`);
  await until("it is asked", () => asked === 1);
  await service.first.close(0);
  const between = await fetch(`${service.url}/admin/v1/tasks`, { method: "POST", body: "x".repeat(200_000) });
  for (const response of [await waiting, between]) {
    assert.equal(response.status, 503);
    assert.ok(Number(response.headers.get("retry-after")) > 0);
    assert.equal(((await response.json()) as { code: string }).code, "console_away");
  }
});

test("only calls of the console are relayed, and nobody is let in on the way", async () => {
  const own = async (): Promise<Answer> => ({ status: 200 });
  const other = async (): Promise<Answer> => ({ status: 418 });
  const routes: Route[] = [
    { method: "GET", path: "/admin/v1/jobs/:id", console: "looks", handle: own },
    { method: "GET", path: "/console/", prefix: true, open: true, handle: own },
    { method: "POST", path: "/api/v1/scan/sync/binary", scopes: ["scan"], handle: own },
  ];
  assert.deepEqual(relayedRoutes(routes, other), [
    { method: "GET", path: "/admin/v1/jobs/:id", open: true, handle: other },
    ...routes.slice(1),
  ]);
});
