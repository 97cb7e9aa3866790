import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { log } from "../../log.ts";
import { type RunningServer, startHttpServer } from "./http-server.ts";

/** Texts that somebody tells, one by one; knows when nobody wants more. */
function told(): { texts: AsyncIterable<string>; tell(text: string): void; readonly left: boolean } {
  const waiting: string[] = [];
  let wake = (): void => {};
  let left = false;
  const iterator: AsyncIterator<string> = {
    async next() {
      while (waiting.length === 0 && !left) await new Promise<void>((resolve) => (wake = resolve));
      const value = waiting.shift();
      return value === undefined ? { done: true, value: undefined } : { done: false, value };
    },
    async return() {
      left = true;
      wake();
      return { done: true, value: undefined };
    },
  };
  return {
    texts: { [Symbol.asyncIterator]: () => iterator },
    tell(text) {
      waiting.push(text);
      wake();
    },
    get left() {
      return left;
    },
  };
}

async function serving(texts: AsyncIterable<string>, unreadMs = 30_000): Promise<RunningServer & AsyncDisposable> {
  const server = await startHttpServer({
    host: "127.0.0.1",
    port: 0,
    log: log({ level: "silent", format: "json", write() {} }),
    timings: { unreadMs },
    handle: async ({ path }) => (path === "/events" ? { status: 200, events: texts } : { status: 204 }),
  });
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close(0) });
}

test("events arrive as they are told, and who tells hears when the client has gone", async () => {
  const events = told();
  await using server = await serving(events.texts);
  const leave = new AbortController();
  const response = await fetch(`http://127.0.0.1:${server.port}/events`, { signal: leave.signal });
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.equal(response.headers.get("cache-control"), "no-store");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (const text of ["data: 1\n\n", "data: ünïcode\n\n"]) {
    events.tell(text);
    assert.equal((await reader?.read())?.value, text);
  }
  leave.abort();
  await until("the stream was left", () => events.left);
});

test("a server that drains ends its streams, so that it can close and clients go elsewhere", async () => {
  const events = told();
  await using server = await serving(events.texts);
  const response = await fetch(`http://127.0.0.1:${server.port}/events`);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  events.tell("data: 1\n\n");
  assert.equal((await reader?.read())?.value, "data: 1\n\n");
  server.drain();
  assert.equal((await reader?.read())?.done, true);
  assert.ok(events.left);
  await server.close(60_000);
});

test("a client that does not read is told no more, and is cut off", async () => {
  const piece = `data: ${"x".repeat(64 * 1024)}\n\n`;
  let taken = 0;
  let left = false;
  async function* always(): AsyncGenerator<string> {
    try {
      for (; taken < 10_000; taken += 1) {
        yield piece;
        await new Promise(setImmediate);
      }
    } finally {
      left = true;
    }
  }
  await using server = await serving(always(), 300);
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  await until("it was cut off", () => left);
  // What the system keeps for a connection, and ours.
  assert.ok(taken < 500, `${taken} pieces of 64 KiB`);
  socket.destroy();
});

test("a client that reads slowly gets all of a burst", async () => {
  const pieces = Array.from({ length: 40 }, (_, index) => `data: ${index} ${"x".repeat(64 * 1024)}\n\n`);
  async function* burst(): AsyncGenerator<string> {
    yield* pieces;
  }
  await using server = await serving(burst());
  const response = await fetch(`http://127.0.0.1:${server.port}/events`);
  let text = "";
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    await new Promise(setImmediate);
  }
  assert.equal(text, pieces.join(""));
});

test("HEAD of a stream is answered, and nobody goes on telling", async () => {
  const events = told();
  await using server = await serving(events.texts);
  const response = await fetch(`http://127.0.0.1:${server.port}/events`, { method: "HEAD" });
  assert.equal(response.status, 200);
  assert.ok(events.left);
});
