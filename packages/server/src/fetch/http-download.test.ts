import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { describe, it } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { fakeNetwork } from "../../test/support/fake-network.ts";
import "../../test/support/leftovers.ts";
import { httpServer, rawServer } from "../../test/support/loopback-server.ts";
import { at, downloader, fails, failureOf, never, rawAnswer, read, source } from "../../test/support/try-download.ts";
import { until } from "../../test/support/until.ts";
import { SILENCE_MS as OBJECT_SILENCE_MS } from "../platforms/aws/clients.ts";
import { SILENCE_MS } from "./http-download.ts";

describe("a download", () => {
  it("gives the bytes of a file", async () => {
    const file = Buffer.alloc(3_000_000, "lazaret");
    await using server = await httpServer((_request, response) => response.end(file));
    const sum = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
    assert.equal(sum(await read(at(server))), sum(file));
  });

  it("waits longer for a silent server than the 60 seconds of a synchronous request, which end it first; so do objects", () => {
    assert.ok(SILENCE_MS > 60_000, `${SILENCE_MS} ms`);
    assert.ok(OBJECT_SILENCE_MS > 60_000, `${OBJECT_SILENCE_MS} ms`);
  });

  it("gives an empty file", async () => {
    await using server = await httpServer((_request, response) => response.end());
    assert.equal((await read(at(server))).length, 0);
  });

  it("asks for the bytes as they are, with the client's headers merged whatever their case", async () => {
    let seen: IncomingHttpHeaders = {};
    let names: string[] = [];
    await using server = await httpServer((request, response) => {
      seen = request.headers;
      names = request.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
      response.end();
    });
    await read(at(server), { "X-Tenant": "7", "Accept-ENCODING": "br" });
    assert.equal(seen["x-tenant"], "7");
    assert.equal(seen["accept-encoding"], "identity");
    assert.equal(seen["user-agent"], "lazaret/1.2.3");
    assert.equal(seen.host, `127.0.0.1:${server.port}`);
    await read(at(server), { "USER-Agent": "acme/1" });
    assert.equal(seen["user-agent"], "acme/1");
    assert.equal(names.length, new Set(names).size);
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`follows a ${status}, by GET and over a new connection, with the headers for the same origin`, async () => {
      const seen: (string | undefined)[] = [];
      await using server = await httpServer((request, response) => {
        seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
        if (request.url === "/a") response.writeHead(status, { location: "b?c=1#d" }).end("not this");
        else response.end("this");
      });
      assert.equal(`${await read(at(server, "/a"), { Authorization: "Bearer t" })}`, "this");
      assert.deepEqual(seen, ["GET /a Bearer t", "GET /b?c=1 Bearer t"]);
      assert.equal(server.connections, 2);
    });
  }

  it("drops the client's headers when the origin changes, also on the way back", async () => {
    const seen: IncomingHttpHeaders[] = [];
    let second = "";
    const answer: RequestListener = (request, response) => {
      seen.push(request.headers);
      if (request.url === "/start") response.writeHead(302, { location: second }).end();
      else if (request.url === "/away") response.writeHead(302, { location: back }).end();
      else if (request.url === "/back") response.writeHead(302, { location: "/end" }).end();
      else response.end();
    };
    await using first = await httpServer(answer);
    await using other = await httpServer(answer);
    second = at(other, "/away");
    const back = at(first, "/back");
    await read(at(first, "/start"), { Authorization: "Bearer t", Cookie: "a=b", "User-Agent": "acme/1" });
    assert.deepEqual(
      seen.map((headers) => [headers.authorization, headers.cookie, headers["user-agent"]]),
      [["Bearer t", "a=b", "acme/1"], ...Array(3).fill([undefined, undefined, "lazaret/1.2.3"])],
    );
  });

  it("follows five redirects and not six", async () => {
    await using server = await httpServer((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left > 0) response.writeHead(302, { location: `/${left - 1}` }).end();
      else response.end("there");
    });
    assert.equal(`${await read(at(server, "/5"))}`, "there");
    await fails(read(at(server, "/6")), "too_many_redirects", false);
    assert.equal(server.connections, 12);
  });

  it("reads a Location with raw letters as UTF-8", async () => {
    await using server = await rawServer((socket) => {
      socket.end("HTTP/1.1 302 Found\r\nLocation: /größe\r\nContent-Length: 0\r\n\r\n");
    });
    await using target = await httpServer((request, response) => response.end(request.url));
    const network = fakeNetwork({ portFor: (port) => (port === 8001 ? server.port : target.port) });
    const turns = [8001, 8002];
    const dial: typeof network.dial = (to, signal) => network.dial({ ...to, port: turns.shift() ?? 0 }, signal);
    assert.equal(`${await read("http://127.0.0.1/", {}, { dial })}`, "/gr%C3%B6%C3%9Fe");
  });

  it("fails for a redirect to a place that is no URL, or to none", async () => {
    for (const [location, code] of [
      ["http://", "bad_redirect"],
      ["http://u:p@127.0.0.1/", "bad_redirect"],
    ] as const) {
      await using server = await rawAnswer(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`);
      await fails(read(at(server)), code, false);
    }
    await using server = await rawAnswer("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n");
    await fails(read(at(server)), "HTTP_302", false);
  });

  for (const [status, passing] of [
    [204, false],
    [205, false],
    [206, false],
    [226, false],
    [300, false],
    [304, false],
    [400, false],
    [401, false],
    [404, false],
    [408, true],
    [410, false],
    [416, false],
    [425, true],
    [429, true],
    [500, true],
    [503, true],
  ] as const) {
    it(`fails for ${status}${passing ? ", which may pass" : ""}`, async () => {
      await using server = await httpServer((_request, response) => response.writeHead(status).end());
      const failure = await failureOf(read(at(server)));
      assert.deepEqual([failure.code, failure.statusCode, failure.passing], [`HTTP_${status}`, status, passing]);
      await until("the connection is closed", () => server.connections === 1);
    });
  }

  it("decodes a body that is encoded although we asked for none", async () => {
    const file = Buffer.alloc(500_000, "abc");
    await using server = await httpServer((request, response) => {
      if (request.url === "/gzip") response.setHeader("content-encoding", "gzip").end(gzipSync(file));
      else if (request.url === "/br") response.setHeader("content-encoding", "BR").end(brotliCompressSync(file));
      else response.setHeader("content-encoding", "gzip").end(gzipSync(file).subarray(0, -1));
    });
    assert.ok((await read(at(server, "/gzip"))).equals(file));
    assert.ok((await read(at(server, "/br"))).equals(file));
    await fails(read(at(server, "/cut")), "bad_encoding", false);
  });

  it("fails when nobody listens, when there is no such name, and when the address is refused", async () => {
    const server = await httpServer(() => {});
    await server[Symbol.asyncDispose]();
    await fails(read(at(server)), "ECONNREFUSED", true);
    await fails(read("http://nobody.test/", {}, fakeNetwork({})), "ENOTFOUND", true);
    const inside = fakeNetwork({ names: { "inside.test": [["10.0.0.1"]] } });
    await fails(read("http://inside.test/", {}, inside), "blocked_destination", false);
    await fails(read("http://10.0.0.1/"), "blocked_destination", false);
    await fails(read("not a url"), "invalid_url", false);
  });

  it("ends the downloads under way when the downloader is closed: the fault is ours, not the file's", async () => {
    await using server = await httpServer((_request, response) => response.writeHead(200).write("hello"));
    const download = downloader();
    const bytes = (await download.open(source(at(server)), never)).bytes[Symbol.asyncIterator]();
    await bytes.next();
    const pending = assert.rejects(bytes.next(), /the downloader is closed/);
    await download.close();
    await pending;
    await assert.rejects(download.open(source(at(server)), never), /the downloader is closed/);
  });
});
