import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { inspect } from "node:util";
import {
  Lazaret,
  LazaretError,
  type LazaretOptions,
  type ScanTarget,
  ScanTimeoutError,
  TooBigError,
  UnavailableError,
  UnexpectedAnswerError,
  UnreachableError,
} from "@lazaret/client";
import { temporaryFolder } from "../../server/test/support/leftovers.ts";
import { httpServer, type LoopbackServer } from "../../server/test/support/loopback-server.ts";
import { until } from "../../server/test/support/until.ts";

const apiKey = "key-that-nobody-may-see";

const at = ({ port }: LoopbackServer, options: LazaretOptions = {}): Lazaret =>
  new Lazaret({ baseUrl: `http://127.0.0.1:${port}`, apiKey, ...options });

/** Reads the request to its end, then answers; the first answers in turn, then the last for ever. */
function answering(...answers: ((response: ServerResponse, request: IncomingMessage) => void)[]): RequestListener & {
  bodies: string[];
} {
  const bodies: string[] = [];
  const listener: RequestListener = async (request, response) => {
    const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>).catch(() => []);
    bodies.push(Buffer.concat(chunks).toString());
    answers[Math.min(bodies.length, answers.length) - 1]?.(response, request);
  };
  return Object.assign(listener, { bodies });
}

const clean = (response: ServerResponse): void => void response.end('{"status":"clean"}');
const busy = (response: ServerResponse): void => void response.writeHead(503, { "Retry-After": "0" }).end();
const cut = (_: ServerResponse, request: IncomingMessage): void => void request.socket.destroy();
const saying =
  (status: number, body: string, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end(body);

const problem = (status: number, code: string): string =>
  JSON.stringify({ statusCode: status, error: "E", code, message: "m", hint: "h", request_id: "r-1" });

test("429, 503 and lost connections are tried again, with the whole file from its beginning", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "file");
  writeFileSync(path, "the whole file");
  const files = {
    path,
    Blob: new Blob(["the whole file"]),
    bytes: Buffer.from("the whole file"),
    function: () => Readable.from([Buffer.from("the whole "), Buffer.from("file")]),
  };
  for (const [name, file] of Object.entries(files)) {
    const answers = answering(busy, cut, saying(429, "", { "Retry-After": "0" }), clean);
    await using server = await httpServer(answers);
    assert.deepEqual(await at(server).scan({ file }), { status: "clean" }, name);
    assert.deepEqual(answers.bodies, Array(4).fill("the whole file"), name);
  }
});

test("a stream that can be read only once is never sent twice", async () => {
  for (const file of [Readable.from([Buffer.from("once")]), new Blob(["once"]).stream()]) {
    const answers = answering(busy, clean);
    await using server = await httpServer(answers);
    await assert.rejects(at(server).scan({ file }), UnavailableError);
    assert.deepEqual(answers.bodies, ["once"]);
  }
});

test("the tries are limited, and the last answer is the error", async () => {
  const answers = answering(saying(503, problem(503, "busy"), { "Retry-After": "0" }));
  await using server = await httpServer(answers);
  await assert.rejects(at(server, { retries: 2 }).scan({ url: "https://a.b/c" }), (error) => {
    assert.ok(error instanceof UnavailableError && error instanceof LazaretError);
    assert.deepEqual(
      [error.status, error.code, error.hint, error.requestId, error.retryAfterSeconds],
      [503, "busy", "h", "r-1", 0],
    );
    assert.match(error.message, /: 503, m \(hint: h\)$/);
    return true;
  });
  assert.equal(answers.bodies.length, 3);
  await assert.rejects(at(server).scan({ url: "https://a.b/c" }, { retries: 0 }), UnavailableError);
  assert.equal(answers.bodies.length, 4);
});

test("a server that asks for more than a minute is not waited for", async () => {
  await using server = await httpServer(answering(saying(503, "", { "Retry-After": "3600" }), clean));
  await assert.rejects(at(server).checkKey(), (error) => {
    assert.ok(error instanceof UnavailableError);
    assert.equal(error.retryAfterSeconds, 3600);
    return true;
  });
});

test("other errors are not tried again", async () => {
  for (const status of [400, 401, 404, 413, 415, 500]) {
    const answers = answering(saying(status, "<h1>not ours</h1>"), clean);
    await using server = await httpServer(answers);
    await assert.rejects(at(server).scan({ file: new Blob(["x"]) }), (error) => {
      assert.ok(error instanceof LazaretError);
      assert.deepEqual([error.status, error.code], [status, `http_${status}`]);
      return true;
    });
    assert.equal(answers.bodies.length, 1);
  }
});

const nginx = (status: number): ((response: ServerResponse) => void) =>
  saying(status, `<html><h1>${status}</h1><hr>nginx/1.26.3</html>`, { Server: "nginx/1.26.3" });

test("a proxy's 413, 502 and 504 are named as such, with what to do there; Lazaret's own are not", async () => {
  const wanted: [status: number, kind: typeof LazaretError, hint: RegExp][] = [
    [413, TooBigError, /client_max_body_size/],
    [502, UnavailableError, /cannot reach Lazaret/],
    [504, ScanTimeoutError, /proxy_read_timeout/],
  ];
  for (const [status, kind, hint] of wanted) {
    await using server = await httpServer(answering(nginx(status)));
    await assert.rejects(at(server, { retries: 0 }).scan({ file: new Blob(["x"]) }), (error) => {
      assert.ok(error instanceof kind && error instanceof LazaretError);
      assert.deepEqual([error.status, error.code], [status, `http_${status}`]);
      assert.match(error.message, /: \d{3}, and not from Lazaret: a proxy or load balancer \(nginx\) answered/);
      assert.match(error.hint ?? "", hint);
      return true;
    });
    await using own = await httpServer(answering(saying(status, problem(status, "scanner:own"))));
    await assert.rejects(at(own, { retries: 0 }).scan({ file: new Blob(["x"]) }), (error) => {
      assert.ok(error instanceof kind && error instanceof LazaretError);
      assert.deepEqual([error.code, error.hint, error.message.includes("proxy")], ["scanner:own", "h", false]);
      return true;
    });
  }
});

test("what a gateway says about itself is passed on", async () => {
  await using server = await httpServer(answering(saying(504, '{"message":"Endpoint request timed out"}')));
  await assert.rejects(
    at(server, { retries: 0 }).checkKey(),
    /a proxy or load balancer answered: Endpoint request timed/,
  );
});

test("a proxy's 502 and 504 are tried again where that is safe: scans and polls, not jobs nor Lazaret's own 504", async () => {
  for (const status of [502, 504]) {
    const scanned = answering(nginx(status), nginx(status), clean);
    await using scans = await httpServer(scanned);
    assert.deepEqual(await at(scans).scan({ file: new Blob(["again"]) }), { status: "clean" });
    assert.deepEqual(scanned.bodies, Array(3).fill("again"));

    await using polls = await httpServer(answering(nginx(status), clean));
    assert.deepEqual(await at(polls).async.result("t"), { status: "clean" });

    const submitted = answering(nginx(status), saying(201, ""));
    await using submissions = await httpServer(submitted);
    await assert.rejects(at(submissions).async.download({ url: "https://a.b/c" }), LazaretError);
    assert.equal(submitted.bodies.length, 1);

    const streamed = answering(nginx(status), clean);
    await using streams = await httpServer(streamed);
    await assert.rejects(at(streams).scan({ file: Readable.from([Buffer.from("once")]) }), LazaretError);
    assert.equal(streamed.bodies.length, 1);
  }
  const late = answering(saying(504, problem(504, "scanner:timeout")), clean);
  await using server = await httpServer(late);
  await assert.rejects(at(server).scan({ file: new Blob(["x"]) }), ScanTimeoutError);
  assert.equal(late.bodies.length, 1);
});

test("scan with something else than { file }, { url } or { bucket, key } says what to pass", async () => {
  const client = new Lazaret({ baseUrl: "http://127.0.0.1:1", apiKey, retries: 0 });
  const given: [unknown, RegExp][] = [
    ["report.pdf", /pass \{ file \} for a path, as in scan\(\{ file: "report\.pdf" \}\)/],
    ["https://a.b/c", /pass \{ url \} for a link/],
    [new URL("https://a.b/c"), /pass \{ url \} for a link/],
    [new URL("file:///report.pdf"), /pass \{ file \} for a path/],
    [Buffer.from("bytes"), /pass \{ file \} for bytes/],
    [new Blob(["bytes"]), /pass \{ file \} for bytes/],
    [Object.assign(Readable.from([]), { url: "/upload" }), /pass \{ file \} for bytes, a Blob or a stream/],
    [undefined, /pass \{ file \}, \{ url \} or \{ bucket, key \}/],
    [null, /pass \{ file \}, /],
    [{}, /pass \{ file \}, /],
    [["report.pdf"], /pass \{ file \}, /],
  ];
  for (const [target, message] of given) {
    await assert.rejects(client.scan(target as ScanTarget), (error) => {
      assert.ok(error instanceof TypeError);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("an answer that is no result is an error, whatever it looks like", async () => {
  const bodies = [
    "",
    "clean",
    '"clean"',
    "{}",
    '{"status":"fine"}',
    '{"status":"clean","finding":"Eicar"}',
    '{"status":"clean"',
    "<html>clean</html>",
    `{"status":"clean","x":"${"x".repeat(2_000_000)}"}`,
  ];
  for (const body of bodies) {
    await using server = await httpServer(answering(saying(200, body)));
    await assert.rejects(at(server).scan({ file: new Blob(["x"]) }), UnexpectedAnswerError, body.slice(0, 50));
    await assert.rejects(at(server).async.result("t"), UnexpectedAnswerError, body.slice(0, 50));
  }
});

test("a result with another status than 200, and a redirect, are errors", async () => {
  for (const status of [201, 202, 203, 206, 301, 302, 307]) {
    const answers = answering(saying(status, '{"status":"clean"}', { Location: "/elsewhere" }), clean);
    await using server = await httpServer(answers);
    await assert.rejects(at(server).scan({ url: "https://a.b/c" }), UnexpectedAnswerError, String(status));
    assert.equal(answers.bodies.length, 1);
  }
});

test("clean about a part of the file is an error", async () => {
  await using other = await httpServer(answering(saying(200, '{"status":"clean","size":4}')));
  await assert.rejects(at(other).scan({ file: new Blob(["12345"]) }), /4 bytes were scanned after 5 bytes/);

  // Answers after the first piece of a stream that has not ended.
  await using early = await httpServer((request, response) => void request.once("data", () => clean(response)));
  const unfinished = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(3)),
  });
  await assert.rejects(at(early).scan({ file: unfinished }), /an answer came after 3 bytes of the file had been sent/);
});

test("no more of a file is read ahead than the connection takes", async () => {
  const pieces = 2000;
  let read = 0;
  const file = (async function* () {
    const piece = Buffer.alloc(64 * 1024);
    for (; read < pieces; read++) yield piece;
  })();
  const asked: IncomingMessage[] = [];
  await using server = await httpServer(async (request, response) => {
    asked.push(request);
    await until("the client may go on", () => asked.length > 1, { limitMs: 60_000 });
    request.resume().once("end", () => clean(response));
  });
  const client = at(server);
  const scan = client.scan({ file });
  await until("the file is being sent", () => asked.length > 0 && read > 0, { limitMs: 60_000 });
  for (let each = 0; each < 500; each++) await turn();
  assert.ok(read < pieces, "the whole file was read although nobody took it");
  const [waiting] = asked;
  if (waiting) asked.push(waiting);
  assert.deepEqual(await scan, { status: "clean" });
  assert.equal(read, pieces);
});

test("a call that is aborted rejects with the signal's reason, and lets go of its stream", async () => {
  const controller = new AbortController();
  const reason = new Error("the user has left");
  await using server = await httpServer((request) => void request.once("data", () => controller.abort(reason)));
  // One piece, and then nothing for ever.
  const file = new Readable({ read() {} });
  file.push(Buffer.from("first"));
  await assert.rejects(at(server).scan({ file }, { signal: controller.signal }), reason);
  assert.ok(file.destroyed);
  await assert.rejects(at(server).checkKey({ signal: controller.signal }), reason);
});

test("a call can be aborted while it waits for its next try", async () => {
  const controller = new AbortController();
  const reason = new Error("the user has left");
  const answers = answering((response) => {
    response.writeHead(503, { "Retry-After": "60" }).end();
    response.once("close", () => setImmediate(() => controller.abort(reason)));
  });
  await using server = await httpServer(answers);
  await assert.rejects(at(server).checkKey({ signal: controller.signal }), reason);
  assert.equal(answers.bodies.length, 1);
});

test("a server that does not answer in time is an UnreachableError", async () => {
  await using server = await httpServer(() => {});
  await assert.rejects(at(server).checkKey({ timeoutMs: 100 }), (error) => {
    assert.ok(error instanceof UnreachableError);
    assert.equal(error.code, "timeout");
    assert.match(error.message, /GET \/api\/v1\/test at http:.*: no answer within 0\.1 s/);
    return true;
  });
});

test("a server that is not there is an UnreachableError with its address and the reason", async () => {
  const server = await httpServer(() => {});
  const client = at(server, { retries: 0 });
  await server[Symbol.asyncDispose]();
  await assert.rejects(client.checkKey(), (error) => {
    assert.ok(error instanceof UnreachableError);
    assert.equal(error.code, "unreachable");
    assert.match(error.message, new RegExp(`at http://127\\.0\\.0\\.1:${server.port}: .*ECONNREFUSED`));
    return true;
  });
});

test("the key is in no error and in no picture of the client, also when the server repeats it", async () => {
  const echo = JSON.stringify({ code: `c ${apiKey}`, message: `no ${apiKey}`, hint: `use ${apiKey}`, request_id: "r" });
  await using server = await httpServer(answering(saying(400, echo)));
  const client = at(server);
  await assert.rejects(client.checkKey(), (error) => {
    assert.match(String(error), /no \*\*\*/);
    assert.ok(!inspect(error, { depth: 10, showHidden: true }).includes(apiKey));
    return true;
  });
  assert.ok(!inspect(client, { depth: 10, showHidden: true }).includes(apiKey));
  assert.ok(!JSON.stringify(client).includes(apiKey));
});

test("an own fetch is used when one is given, with the path in front of the server", async () => {
  const asked: unknown[] = [];
  const client = new Lazaret({
    baseUrl: "https://gateway.example.com/lazaret/",
    apiKey,
    fetch: async (url, init) => {
      asked.push(url, new Headers(init?.headers).get("authorization"));
      return new Response(null, { status: 204 });
    },
  });
  await client.checkKey();
  assert.deepEqual(asked, ["https://gateway.example.com/lazaret/api/v1/test", `Bearer ${apiKey}`]);
});
