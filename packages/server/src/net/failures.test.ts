import assert from "node:assert/strict";
import { test } from "node:test";
import { errors } from "undici";
import { failureCode, failureWords, loggableCause } from "./failures.ts";

const withCode = (code: unknown): Error => Object.assign(new Error("127.0.0.1 said: secret"), { code });

/** Code, what a download says, what a callback says. Clients may have written them down: they do not change. */
const words: [code: string, download: string, post: string | undefined][] = [
  ["ECONNREFUSED", "the connection was refused", "the connection was refused"],
  ["ECONNRESET", "the connection was closed by the other side", "the connection was closed by the receiver"],
  ["ECONNABORTED", "the connection was aborted", undefined],
  ["EPIPE", "the connection was closed by the other side", "the connection was closed by the receiver"],
  ["ETIMEDOUT", "connecting took too long", "the receiver did not answer in time"],
  ["EHOSTUNREACH", "the host cannot be reached", "the host cannot be reached"],
  ["EHOSTDOWN", "the host is down", undefined],
  ["ENETUNREACH", "the network cannot be reached", "the network cannot be reached"],
  ["ENETDOWN", "the network is down", undefined],
  ["EADDRNOTAVAIL", "no local port is free", undefined],
  ["EMFILE", "too many files are open", undefined],
  ["ENFILE", "too many files are open", undefined],
  ["ENOTFOUND", "the host name does not resolve", "the host name does not resolve"],
  ["EAI_AGAIN", "the name server does not answer", "the name server does not answer"],
  ["headers_timeout", "the server did not answer in time", undefined],
  ["body_timeout", "the server stopped sending", undefined],
  ["short_body", "the body broke off before it was complete", undefined],
  ["bad_response", "the answer is not valid HTTP", "the answer is not valid HTTP"],
  [
    "blocked_destination",
    "the URL leads to an address or port that is not open to downloads",
    "the URL leads to an address or port that is not open to callbacks",
  ],
];

test("a failure is told in the same words as ever, and what has none is not given any", () => {
  for (const [code, download, post] of words) {
    assert.deepEqual([failureWords(code, "download"), failureWords(code, "post")], [download, post], code);
  }
  assert.equal(failureWords("CERT_HAS_EXPIRED", "download"), undefined);
  assert.equal(failureWords("toString", "post"), undefined);
});

test("Node's codes stay, and undici's have our names, by how far the exchange had got", () => {
  const parserError = new errors.HTTPParserError("bad");
  const cases: [error: unknown, inAnswer: string | undefined, inBody: string | undefined][] = [
    [withCode("ECONNRESET"), "ECONNRESET", "ECONNRESET"],
    [withCode("CERT_HAS_EXPIRED"), "CERT_HAS_EXPIRED", "CERT_HAS_EXPIRED"],
    [new errors.HeadersTimeoutError(), "headers_timeout", "UND_ERR_HEADERS_TIMEOUT"],
    [new errors.BodyTimeoutError(), "UND_ERR_BODY_TIMEOUT", "body_timeout"],
    [new errors.SocketError(), "ECONNRESET", "short_body"],
    [new errors.HeadersOverflowError(), "bad_response", "UND_ERR_HEADERS_OVERFLOW"],
    [new errors.ResponseContentLengthMismatchError(), "bad_response", "short_body"],
    [parserError, "bad_response", "short_body"],
    [new Error("without a code"), undefined, undefined],
    [withCode(23), undefined, undefined],
    ["no error at all", undefined, undefined],
  ];
  for (const [error, inAnswer, inBody] of cases) {
    assert.deepEqual([failureCode(error), failureCode(error, "body")], [inAnswer, inBody], `${error}`);
  }
});

test("a parser's error is no cause for logs, as it holds a piece of the answer", () => {
  assert.equal(loggableCause(new errors.HTTPParserError("bad")), undefined);
  const other = withCode("ECONNRESET");
  assert.deepEqual(loggableCause(other), { cause: other });
});
