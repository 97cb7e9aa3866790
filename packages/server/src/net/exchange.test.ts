import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";
import { constants, deflateRawSync, gzipSync } from "node:zlib";
import "../../test/support/leftovers.ts";
import { httpServer, rawServer } from "../../test/support/loopback-server.ts";
import { at, downloader, fails, never, rawAnswer, read, readBy, source } from "../../test/support/try-download.ts";
import { until } from "../../test/support/until.ts";
import type { DownloadOptions } from "../fetch/http-download.ts";

describe("the connection of a download", () => {
  const head = "HTTP/1.1 200 OK\r\n";
  for (const [what, answer, code, passing] of [
    ["a body shorter than its length", `${head}Content-Length: 10\r\n\r\nhello`, "short_body", true],
    [
      "a short body that announces the close",
      `${head}Connection: close\r\nContent-Length: 10\r\n\r\nhello`,
      "short_body",
      true,
    ],
    ["chunks that stop", `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`, "short_body", true],
    [
      "chunks that stop, with the close announced",
      `${head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
      "short_body",
      true,
    ],
    [
      "a chunk that stops",
      `${head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello`,
      "short_body",
      true,
    ],
    ["a bad chunk", `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n`, "short_body", true],
    [
      "a length and chunks",
      `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      "bad_response",
      false,
    ],
    ["two lengths", `${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`, "bad_response", false],
    ["something other than HTTP", "220 mail.test ESMTP\r\n", "bad_response", false],
    ["no answer at all", "", "ECONNRESET", true],
    ["half an answer", "HTTP/1.1 200", "ECONNRESET", true],
    ["headers without end", `${head}X: ${"x".repeat(20_000)}\r\n\r\n`, "bad_response", false],
    [
      "an unknown encoding",
      `${head}Content-Encoding: aes\r\nContent-Length: 1\r\n\r\nx`,
      "unsupported_encoding",
      false,
    ],
    [
      "two encodings",
      `${head}Content-Encoding: gzip\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx`,
      "unsupported_encoding",
      false,
    ],
    [
      "an encoded transfer",
      `${head}Transfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
      "unsupported_encoding",
      false,
    ],
    [
      "a switch to another protocol",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
      "ECONNRESET",
      true,
    ],
  ] as const) {
    it(`fails for ${what}`, async () => {
      await using server = await rawAnswer(answer);
      await fails(read(at(server)), code, passing);
    });
  }

  it("takes a body that ends with its connection, closed in order", async () => {
    await using server = await rawAnswer(`${head}\r\nall there is`);
    assert.equal(`${await read(at(server))}`, "all there is");
  });

  it("takes the answer that follows informational ones", async () => {
    const early = "HTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\n\r\n";
    await using server = await rawAnswer(`${early}${early}${head}Content-Length: 5\r\n\r\nhello`);
    assert.equal(`${await read(at(server))}`, "hello");
  });

  it("takes headers as large as Node was started for", async () => {
    await using server = await rawAnswer(`${head}X: ${"x".repeat(20_000)}\r\nContent-Length: 5\r\n\r\nhello`);
    const support = new URL("../../test/support/try-download.ts", import.meta.url);
    const script = `const { read } = await import("${support}"); console.log(String(await read("${at(server)}")));`;
    const args = ["--max-http-header-size=65536", "--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    assert.equal(stdout, "hello\n");
  });

  it("fails when a body without a length ends in a reset", async () => {
    let socket: Socket | undefined;
    await using server = await rawServer((accepted) => {
      socket = accepted;
      accepted.write(`${head}Connection: close\r\n\r\nthe first half`);
    });
    const bytes = (await downloader().open(source(at(server)), never)).bytes[Symbol.asyncIterator]();
    assert.equal(`${(await bytes.next()).value}`, "the first half");
    socket?.resetAndDestroy();
    await fails(bytes.next(), "short_body", true);
  });

  it("fails when a stalled body is idle for too long, and when no answer comes", async () => {
    await using server = await httpServer((request, response) => {
      if (request.url === "/stall") response.writeHead(200, { "content-length": 10 }).write("hello");
    });
    await fails(read(at(server, "/stall"), {}, { idleTimeoutMs: 100 }), "body_timeout", true);
    await fails(read(at(server, "/silent"), {}, { headersTimeoutMs: 100 }), "headers_timeout", true);
  });

  it("closes the connection after chunks that may not be the end, although the server would keep it", async () => {
    let closed = false;
    await using server = await httpServer((request, response) => {
      request.socket.once("close", () => (closed = true));
      response.write("all ");
      response.end("of it");
    });
    assert.equal(`${await readBy(downloader(), at(server))}`, "all of it");
    // undici would close it of its own accord, but only after 4 seconds.
    await until("the server sees the connection closed", () => closed, { limitMs: 2000 });
  });

  it("closes the connection when the reader stops early, without unpacking the rest", async () => {
    const block = deflateRawSync(Buffer.alloc(1 << 20), { finishFlush: constants.Z_SYNC_FLUSH });
    let closed = false;
    await using server = await httpServer((_request, response) => {
      response.once("close", () => (closed = true));
      response.writeHead(200, { "content-encoding": "gzip" }).write(gzipSync("").subarray(0, 10));
      writeForEver(response, block);
    });
    let read = 0;
    for await (const chunk of (await downloader().open(source(at(server)), never)).bytes) {
      read += chunk.byteLength;
      if (read > 4 << 20) break;
    }
    await until("the server sees the connection closed", () => closed);
  });

  it("closes the connection when the reader stops before it began, or while it waits", async () => {
    let closed = 0;
    await using server = await httpServer((_request, response) => {
      response.once("close", () => (closed += 1));
      response.writeHead(200).write("hello");
    });
    const { bytes: unread } = await downloader().open(source(at(server)), never);
    await unread[Symbol.asyncIterator]().return?.();
    await until("the first connection is closed", () => closed === 1);

    const waiting = (await downloader().open(source(at(server)), never)).bytes[Symbol.asyncIterator]();
    await waiting.next();
    const pending = assert.rejects(waiting.next(), /the download was stopped/);
    await waiting.return?.();
    await pending;
    await until("the second connection is closed", () => closed === 2);
  });

  it("reads from the server no faster than its reader does", async () => {
    let sent = 0;
    const piece = Buffer.alloc(64 * 1024);
    await using server = await httpServer((_request, response) => {
      response.writeHead(200);
      writeForEver(response, piece, () => (sent += piece.length));
    });
    const bytes = (await downloader().open(source(at(server)), never)).bytes[Symbol.asyncIterator]();
    await bytes.next();
    for (let turns = 0; turns < 4000; turns += 1) await turn();
    // What is under way sits in the kernel's buffers for the connection.
    assert.ok(sent < 32 << 20, `${sent} bytes sent, one piece read`);
    await bytes.return?.();
  });

  it("throws the signal's reason when it aborts, at every stage", async () => {
    const reason = new Error("the scan took too long");
    let closed = 0;
    await using server = await httpServer((request, response) => {
      request.socket.once("close", () => (closed += 1));
      if (request.url === "/body") response.writeHead(200).write("hello");
      else stop.abort(reason);
    });
    let stop = new AbortController();
    const isReason = (error: unknown): boolean => error === reason;

    await assert.rejects(downloader().open(source(at(server)), stop.signal), isReason, "waiting for headers");
    await assert.rejects(downloader().open(source(at(server)), stop.signal), isReason, "aborted before");

    stop = new AbortController();
    const body = (await downloader().open(source(at(server, "/body")), stop.signal)).bytes[Symbol.asyncIterator]();
    await body.next();
    const pending = assert.rejects(body.next(), isReason, "waiting for the body");
    stop.abort(reason);
    await pending;

    stop = new AbortController();
    let dialStopped = false;
    const dial: DownloadOptions["dial"] = async (_target, signal) => {
      queueMicrotask(() => stop.abort(reason));
      await once(signal, "abort");
      dialStopped = true;
      throw signal.reason;
    };
    const patient = downloader({ dial, connectTimeoutMs: 600_000 });
    await assert.rejects(patient.open(source(at(server)), stop.signal), isReason, "while connecting");
    await until("the connection is no longer tried", () => dialStopped);
    await until("the connections are closed", () => closed === 2);
  });
});

/** As fast as the connection takes it. */
function writeForEver(response: ServerResponse, piece: Buffer, written: () => void = () => {}): void {
  const pump = (): void => {
    do written();
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", pump);
  pump();
}
