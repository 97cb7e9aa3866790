import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { before, test } from "node:test";
import { brotliCompressSync, constants } from "node:zlib";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** 200 MB, as the spec says. */
const MAX_FILE_BYTES = 209_715_200;
let clamd: TestClamd;
let service: TestService;
let files: Server;
let origin: string;
let seen: Record<string, string | string[] | undefined>[] = [];

/** A few bytes on the wire, 100 MiB in the hands of whoever decodes them. */
const bomb = brotliCompressSync(Buffer.alloc(100 * 1024 * 1024), { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });

const answers: Record<string, RequestListener> = {
  "/clean": (_, response) => response.end("clean file"),
  "/eicar": (_, response) => response.end(eicar()),
  "/missing": (_, response) => response.writeHead(404).end("no such file"),
  "/redirect": (_, response) => response.writeHead(302, { Location: "/eicar" }).end(),
  "/metadata": (_, response) => response.writeHead(302, { Location: "http://169.254.169.254/latest/" }).end(),
  "/short": (_, response) => {
    response.writeHead(200, { "Content-Length": 1000 });
    response.write("half", () => response.destroy());
  },
  "/huge": (_, response) => response.writeHead(200, { "Content-Length": MAX_FILE_BYTES + 1 }).write("x"),
  "/boundless": (_, response) => response.writeHead(200, { "Content-Length": "18446744073709551615" }).write("x"),
  "/bomb": (_, response) => response.writeHead(200, { "Content-Encoding": "br" }).end(bomb),
  "/packed": (_, response) => response.writeHead(200, { "Content-Encoding": "br" }).end(brotliCompressSync(eicar())),
  "/endless": (_, response) => {
    const block = Buffer.alloc(1024 * 1024);
    const more = (): void => {
      while (!response.destroyed && response.write(block)) {}
    };
    response.on("drain", more);
    more();
  },
};

before(async () => {
  files = createServer((request, response) => {
    seen.push(request.headers);
    answers[request.url ?? ""]?.(request, response);
  });
  await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  clamd = await testClamd();
  service = await testService({ clamd: `unix:${clamd.socketPath}` });
});
atTheEnd(() => {
  files.closeAllConnections();
  files.close();
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

const post = (body: unknown, init: RequestInit = {}): Promise<Response> =>
  service.call("/api/v1/scan/sync/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: typeof body === "string" || body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body),
    ...init,
  });

const results: [path: string, result: object][] = [
  ["/clean", { status: "clean", size: 10 }],
  ["/eicar", { status: "infected", finding: "Eicar-Test-Signature", size: 68 }],
  ["/redirect", { status: "infected", finding: "Eicar-Test-Signature", size: 68 }],
  ["/missing", { status: "no", finding: "scanner:download-failed" }],
  ["/metadata", { status: "no", finding: "scanner:download-failed" }],
  ["/short", { status: "no", finding: "scanner:download-failed" }],
  ["/huge", { status: "no", finding: "scanner:too-big", size: MAX_FILE_BYTES + 1 }],
  ["/boundless", { status: "no", finding: "scanner:too-big" }],
  ["/bomb", { status: "no", finding: "scanner:limits-exceeded" }],
  ["/packed", { status: "infected", finding: "Eicar-Test-Signature", size: 68 }],
  ["/endless", { status: "no", finding: "scanner:too-big" }],
];
for (const [path, result] of results) {
  // spec: error-3, error-4
  test(`a download of ${path} answers ${JSON.stringify(result)}`, async () => {
    const response = await post({ download_url: `${origin}${path}` });
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), result);
  });
}

// spec: endpoint-5
test("download_headers are sent, with identity as the only encoding", async () => {
  seen = [];
  await post({
    download_url: `${origin}/clean`,
    download_headers: { Authorization: "Bearer t", "User-Agent": "acme/1", "Accept-Encoding": "br" },
  });
  assert.deepEqual(
    [seen[0]?.authorization, seen[0]?.["user-agent"], seen[0]?.["accept-encoding"]],
    ["Bearer t", "acme/1", "identity"],
  );
});

test("the log names a download that was stopped because of its encoding", async () => {
  await post({ download_url: `${origin}/bomb` });
  const line = service.lines.findLast(({ failure }) => failure !== undefined);
  assert.deepEqual([line?.verdict, line?.failure], ["unscannable", "encoding_bomb"]);
  assert.ok(Number(line?.bytes) <= 64 * 1024 * 1024, `${line?.bytes} bytes were decoded`);
});

test("a download_url of exactly 2,048 characters is taken, one more is refused", async () => {
  const long = (characters: number): string => `${origin}/clean?${"x".repeat(characters - `${origin}/clean?`.length)}`;
  answers[new URL(long(2048)).pathname + new URL(long(2048)).search] = (_, response) => response.end("clean file");
  assert.deepEqual(await (await post({ download_url: long(2048) })).json(), { status: "clean", size: 10 });
  const refused = await post({ download_url: long(2049) });
  assert.equal(((await refused.json()) as { code: string }).code, "invalid_download_url");
});

test("fields the spec does not name are ignored", async () => {
  const response = await post({ download_url: `${origin}/clean`, colour: "green" });
  assert.deepEqual(await response.json(), { status: "clean", size: 10 });
});

const url = "http://files.example.com/x";
const bad: [what: string, body: unknown, status: number, code: string][] = [
  ["malformed JSON", "{", 400, "invalid_json"],
  ["an empty body", "", 400, "invalid_json"],
  ["an array", "[]", 400, "invalid_request"],
  ["null", "null", 400, "invalid_request"],
  ["a string", '"x"', 400, "invalid_request"],
  ["a __proto__ key", '{"__proto__": {"download_url": "http://x"}}', 400, "invalid_request"],
  ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400, "invalid_json"],
  ["deeply nested brackets", "[".repeat(200_000), 400, "invalid_json"],
  ["more than 256 KiB", JSON.stringify({ download_url: "x".repeat(262_144) }), 413, "body_too_large"],
  ["no download_url", {}, 400, "invalid_download_url"],
  ["a download_url that is null", { download_url: null }, 400, "invalid_download_url"],
  ["a download_url that is a number", { download_url: 5 }, 400, "invalid_download_url"],
  ["an empty download_url", { download_url: "" }, 400, "invalid_download_url"],
  ["a download_url over 2,048 characters", { download_url: `${url}?${"x".repeat(2048)}` }, 400, "invalid_download_url"],
  ["a download_url that is no URL", { download_url: "not a url" }, 400, "invalid_download_url"],
  ["credentials in the URL", { download_url: "http://user:pw@files.example.com/" }, 400, "invalid_download_url"],
  ["a line break in the URL", { download_url: "http://files.example.com/\r\nX: y" }, 400, "invalid_download_url"],
  ["a space in the URL", { download_url: "http://files.example.com/a b" }, 400, "invalid_download_url"],
  ["a backslash in the URL", { download_url: "http://files.example.com\\x" }, 400, "invalid_download_url"],
  ["a scheme that is not http", { download_url: "ftp://files.example.com/x" }, 400, "blocked_destination"],
  ["a file URL", { download_url: "file:///etc/passwd" }, 400, "blocked_destination"],
  ["a mail port", { download_url: "http://files.example.com:25/" }, 400, "blocked_destination"],
  ["a private address", { download_url: "http://10.0.0.1/" }, 400, "blocked_destination"],
  ["a metadata address in hex", { download_url: "http://0xA9FEA9FE/" }, 400, "blocked_destination"],
  ["download_headers that are no object", { download_url: url, download_headers: [] }, 400, "invalid_header"],
  ["a header with a number", { download_url: url, download_headers: { A: 1 } }, 400, "invalid_header"],
  ["a header with a line break", { download_url: url, download_headers: { A: "b\r\nHost: x" } }, 400, "invalid_header"],
  ["a Range header", { download_url: url, download_headers: { Range: "bytes=0-0" } }, 400, "invalid_header"],
  [
    "two header names that differ only in case",
    { download_url: url, download_headers: { "X-A": "1", "x-a": "2" } },
    400,
    "invalid_header",
  ],
  [
    "a __proto__ header",
    `{"download_url": "${url}", "download_headers": {"__proto__": {"a": "b"}}}`,
    400,
    "invalid_header",
  ],
];
for (const [what, body, status, code] of bad) {
  // spec: error-8
  test(`${what} gets ${status} ${code}`, async () => {
    const response = await post(body);
    const answer = (await response.json()) as Record<string, unknown>;
    assert.deepEqual([response.status, answer.code], [status, code]);
  });
}

test("a missing or wrong content type, and an encoded body, get 415", async () => {
  const wrong = async (headers: Record<string, string>): Promise<unknown> => {
    const response = await post("{}", { headers });
    return [response.status, ((await response.json()) as { code: string }).code];
  };
  assert.deepEqual(await wrong({}), [415, "unsupported_media_type"]);
  assert.deepEqual(await wrong({ "Content-Type": "text/plain" }), [415, "unsupported_media_type"]);
  assert.deepEqual(await wrong({ "Content-Type": "application/json; charset=latin1" }), [
    415,
    "unsupported_media_type",
  ]);
  assert.deepEqual(await wrong({ "Content-Type": "application/json", "Content-Encoding": "gzip" }), [
    415,
    "unsupported_encoding",
  ]);
});

test("while the engine is down no download is left open", async () => {
  let open = 0;
  const slow = createServer((_, response) => {
    open += 1;
    response.writeHead(200, { "Content-Length": 4 }).write("fil");
    response.on("close", () => {
      open -= 1;
    });
    // The engine is asked when a small file is here.
    response.end("e");
  });
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
  await using down = await testService({ clamd: "unix:/nowhere/clamd.sock" });
  const response = await down.call("/api/v1/scan/sync/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `http://127.0.0.1:${(slow.address() as AddressInfo).port}/` }),
  });
  assert.equal(response.status, 503);
  await until("the connection is closed", () => open === 0);
  slow.close();
});

// spec: limit-7
test("a download that takes longer than the limit gets 504", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const patient = await testService({ clamd: `unix:${clamd.socketPath}` }, { scanMs: 300 });
  const response = await patient.call("/api/v1/scan/sync/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/` }),
  });
  assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [504, "scanner:timeout"]);
  await patient[Symbol.asyncDispose]();
  silent.closeAllConnections();
  silent.close();
});
