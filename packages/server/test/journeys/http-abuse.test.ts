import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { rawHttp } from "../support/raw-http.ts";
import { type TestService, testKey, testService } from "../support/service.ts";

let clamd: TestClamd;
let service: TestService;
before(async () => {
  clamd = await testClamd();
  service = await testService({ clamd: `unix:${clamd.socketPath}` }, { headersMs: 400, requestMs: 600, scanMs: 500 });
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

const auth = `Authorization: Bearer ${testKey}\r\n`;
const octets = "Content-Type: application/octet-stream\r\n";
const binary = "POST /api/v1/scan/sync/binary HTTP/1.1\r\n";
const host = "Host: x\r\n";

const refused: [what: string, request: string, status: number][] = [
  [
    "both Content-Length and Transfer-Encoding",
    `${binary}${host}${auth}${octets}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  ["two Content-Lengths", `${binary}${host}${auth}${octets}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`, 400],
  ["a negative Content-Length", `${binary}${host}${auth}${octets}Content-Length: -1\r\n\r\n`, 400],
  ["a bad chunk size", `${binary}${host}${auth}${octets}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n`, 400],
  [
    "a bad chunk after a good one",
    `${binary}${host}${auth}${octets}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n`,
    400,
  ],
  ["no Host", `${binary}${auth}${octets}Content-Length: 5\r\n\r\nhello`, 400],
  ["two Hosts", `${binary}${host}${host}${auth}${octets}Content-Length: 5\r\n\r\nhello`, 400],
  ["two Authorizations", `GET /api/v1/test HTTP/1.1\r\n${host}${auth}${auth}Content-Length: 1\r\n\r\nx`, 400],
  ["headers over 16 KB", `GET /api/v1/test HTTP/1.1\r\n${host}X-Big: ${"a".repeat(17 * 1024)}\r\n\r\n`, 431],
  ["something that is not HTTP", "\x16\x03\x01\x02\x00hello\r\n\r\n", 400],
];

for (const [what, request, status] of refused) {
  // spec: error-8
  test(`${what} gets ${status} in our own words, and the connection is closed`, async () => {
    const answer = await rawHttp(service.port, [request]);
    assert.equal(answer.status, status);
    assert.equal(answer.closed, true);
    const body = JSON.parse(answer.body);
    assert.equal(body.statusCode, status);
    assert.equal(body.request_id, answer.headers["x-request-id"]);
  });
}

test("slow headers get 408 and the connection is closed", async () => {
  const answer = await rawHttp(service.port, ["GET /api/v1/test HTTP/1.1\r\nHost: x\r\n"]);
  assert.deepEqual([answer.status, answer.closed], [408, true]);
});

test("a slow body gets 408 and the connection is closed", async () => {
  const answer = await rawHttp(service.port, [`${binary}${host}${auth}${octets}Content-Length: 100\r\n\r\n`, "slow"]);
  assert.deepEqual([answer.status, JSON.parse(answer.body).code, answer.closed], [408, "request_timeout", true]);
});

// spec: auth-1
test("a wrong secret is answered before a byte of the body is read", async () => {
  const request = `${binary}${host}Authorization: Bearer wrong-secret\r\n${octets}Content-Length: 1000000\r\n\r\n`;
  const answer = await rawHttp(service.port, [request]);
  assert.deepEqual([answer.status, JSON.parse(answer.body).code], [401, "invalid_api_key"]);
  assert.equal(answer.headers["www-authenticate"], "Bearer");
});

test("a wrong secret on a large upload still reaches the client that goes on sending", async () => {
  const request = `${binary}${host}Authorization: Bearer wrong-secret\r\n${octets}Content-Length: 50000000\r\n\r\n`;
  const answer = await rawHttp(service.port, [request, Buffer.alloc(50_000_000)]);
  assert.equal(answer.status, 401);
});

test("a wrong secret reaches a client that asked to go on and did not wait for the answer", async () => {
  const request = `${binary}${host}Authorization: Bearer wrong-secret\r\n${octets}Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n`;
  const answer = await rawHttp(service.port, [request, Buffer.alloc(5_000_000)]);
  assert.equal(answer.status, 401);
});

test("a target in absolute form is understood, and its credentials are not logged", async () => {
  const request = `GET http://user:canary@x/api/v1/test?q HTTP/1.1\r\n${host}${auth}Connection: close\r\n\r\n`;
  assert.equal((await rawHttp(service.port, [request])).status, 204);
  assert.doesNotMatch(JSON.stringify(service.lines), /canary/);
});

test("two requests on one connection are both answered", async () => {
  const get = `GET /api/v1/test HTTP/1.1\r\n${host}${auth}`;
  const answer = await rawHttp(service.port, [`${get}\r\n${get}Connection: close\r\n\r\n`]);
  assert.equal(answer.status, 204);
  assert.match(answer.body, /^HTTP\/1\.1 204/);
});

test("the service still answers after all of this", async () => {
  assert.equal((await service.call("/api/v1/test")).status, 204);
  assert.deepEqual(await (await service.scan("fine")).json(), { status: "clean", size: 4 });
});
