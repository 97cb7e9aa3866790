import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { fakeNetwork } from "../../test/support/fake-network.ts";
import "../../test/support/leftovers.ts";
import { httpServer, httpsServer, rawExchanges } from "../../test/support/loopback-server.ts";
import { selfSigned } from "../../test/support/self-signed.ts";
import { at, downloader, fails, failureOf, never, readBy, source } from "../../test/support/try-download.ts";
import { until } from "../../test/support/until.ts";
import { addressGuard } from "../net/address-guard.ts";
import type { DownloadOptions, HttpDownload } from "./http-download.ts";

const OK = "HTTP/1.1 200 OK\r\n";
const SECOND = `${OK}Content-Length: 6\r\n\r\nsecond`;
const POISON = `${OK}Content-Length: 6\r\n\r\npoison`;

/** Closed at the end, so that nothing is left. */
function closing(options: Partial<DownloadOptions> = {}): HttpDownload & AsyncDisposable {
  const download = downloader(options);
  return { ...download, [Symbol.asyncDispose]: download.close };
}

/** Answers the first file as given and every later one with SECOND. */
function afterFirst(first: string | ((socket: Socket) => void)) {
  return rawExchanges((path, socket) => {
    if (path !== "/first") socket.write(SECOND);
    else if (typeof first === "string") socket.write(first);
    else first(socket);
  });
}

describe("a connection is used for the next file of its origin", () => {
  for (const [after, first] of [
    ["as many bytes as announced", `${OK}Content-Length: 5\r\n\r\nfirst`],
    ["no bytes, as announced", `${OK}Content-Length: 0\r\n\r\n`],
    ["chunks with their end", `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n`],
    ["an answer that offers to", `${OK}Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nok`],
  ] as const) {
    it(`after ${after}`, async () => {
      await using server = await afterFirst(first);
      await using download = closing();
      await readBy(download, at(server, "/first"));
      assert.equal(`${await readBy(download, at(server, "/next"))}`, "second");
      assert.equal(`${await readBy(download, at(server, "/next"))}`, "second");
      assert.equal(server.connections, 1);
    });
  }

  it("after a file that is not there, and for the next hop of a redirect", async () => {
    await using server = await rawExchanges((path, socket) => {
      if (path === "/none") socket.write("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone");
      else if (path === "/moved") socket.write("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n");
      else socket.write(SECOND);
    });
    await using download = closing();
    await fails(readBy(download, at(server, "/none")), "HTTP_404", false);
    assert.equal(`${await readBy(download, at(server, "/moved"))}`, "second");
    assert.equal(server.connections, 1);
  });

  it("with the headers of each request and no others", async () => {
    const seen: (string | undefined)[] = [];
    await using server = await httpServer((request, response) => {
      seen.push(request.headers.authorization, request.headers.cookie);
      response.setHeader("Content-Length", 2).end("ok");
    });
    await using download = closing();
    await readBy(download, at(server), { Authorization: "Bearer a", Cookie: "b" });
    await readBy(download, at(server), { Authorization: "Bearer c" });
    await readBy(download, at(server));
    assert.deepEqual(seen, ["Bearer a", "b", "Bearer c", undefined, undefined, undefined]);
    assert.equal(server.connections, 1);
  });

  it("over TLS under the same name only", async () => {
    const identity = selfSigned("DNS:one.test,DNS:two.test");
    await using server = await httpsServer(identity, (request, response) => {
      response.setHeader("Content-Length", request.headers.host?.length ?? 0).end(request.headers.host);
    });
    const names = { "one.test": [["93.184.216.34"]], "two.test": [["93.184.216.34"]] };
    const network = fakeNetwork({ names, portFor: () => server.port });
    await using download = closing({ ca: identity.cert, ...network });
    for (const host of ["one.test", "one.test", "two.test", "one.test"]) {
      assert.equal(`${await readBy(download, `https://${host}/`)}`, host);
    }
    assert.deepEqual(
      network.dialled.map(({ host }) => host),
      ["one.test", "two.test"],
    );
  });
});

describe("a connection is closed, and the next file has one of its own,", () => {
  for (const [after, first] of [
    ["bytes beyond the length", `${OK}Content-Length: 5\r\n\r\nfirst and more`],
    ["another answer beyond the length", `${OK}Content-Length: 5\r\n\r\nfirst${POISON}`],
    ["another answer beyond the chunks", `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n${POISON}`],
    ["another answer to nothing at all", `${OK}Content-Length: 0\r\n\r\n${POISON}`],
    ["an answer that says so", `${OK}Connection: close\r\nContent-Length: 5\r\n\r\nfirst`],
    ["an answer that says so and something else", `${OK}Connection: x, Close\r\nContent-Length: 5\r\n\r\nfirst`],
    ["an answer of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nfirst"],
    [
      "chunks that may be of HTTP/1.0",
      "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\n\r\n",
    ],
    [
      "chunks with headers behind them, which may say so",
      `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n0\r\nConnection: close\r\n\r\n`,
    ],
    ["informational answers", `HTTP/1.1 103 Early Hints\r\n\r\n${OK}Content-Length: 5\r\n\r\nfirst`],
    ["an answer about who the connection is", `${OK}Persistent-Auth: true\r\nContent-Length: 5\r\n\r\nfirst`],
  ] as const) {
    it(`after ${after}`, async () => {
      await using server = await afterFirst(first);
      await using download = closing();
      await readBy(download, at(server, "/first"));
      assert.equal(`${await readBy(download, at(server, "/next"))}`, "second");
      assert.equal(server.connections, 2);
    });
  }

  for (const [after, first, code] of [
    ["a length that is not met", `${OK}Content-Length: 9\r\n\r\nfirst`, "body_timeout"],
    [
      "a length and chunks",
      `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${POISON}`,
      "bad_response",
    ],
    ["two lengths", `${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\nfirst`, "bad_response"],
    ["a 204 with a body", `HTTP/1.1 204 No Content\r\n\r\n${POISON}`, "HTTP_204"],
    ["a 204 with a length and a body", `HTTP/1.1 204 No Content\r\nContent-Length: 71\r\n\r\n${POISON}`, "HTTP_204"],
    ["a 304 with a body", `HTTP/1.1 304 Not Modified\r\nContent-Length: 71\r\n\r\n${POISON}`, "HTTP_304"],
    ["an error of the server", "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", "HTTP_503"],
    ["a 404 that is not read", "HTTP/1.1 404 No\r\nContent-Length: 99\r\n\r\n", "HTTP_404"],
    [
      "a question who the connection is",
      "HTTP/1.1 401 Who\r\nWWW-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n",
      "HTTP_401",
    ],
    [
      "a redirect that is not read",
      "HTTP/1.1 302 Found\r\nLocation: http://\r\nContent-Length: 9\r\n\r\n",
      "bad_redirect",
    ],
  ] as const) {
    it(`after ${after}`, async () => {
      await using server = await afterFirst(first);
      await using download = closing({ idleTimeoutMs: 200 });
      assert.equal((await failureOf(readBy(download, at(server, "/first")))).code, code);
      assert.equal(`${await readBy(download, at(server, "/next"))}`, "second");
      assert.equal(server.connections, 2);
    });
  }

  it("after a request whose credentials are the connection's", async () => {
    await using server = await afterFirst(`${OK}Content-Length: 5\r\n\r\nfirst`);
    await using download = closing();
    for (const scheme of ["NTLM abc", "Negotiate abc"]) {
      await readBy(download, at(server, "/first"), { Authorization: scheme });
    }
    await readBy(download, at(server, "/next"));
    assert.equal(server.connections, 3);
  });

  it("after bytes that come while it is idle", async () => {
    let closed = false;
    let sendMore = (): void => {};
    await using server = await afterFirst((socket) => {
      socket.write(`${OK}Content-Length: 5\r\n\r\nfirst`);
      socket.once("close", () => (closed = true));
      sendMore = () => socket.write(POISON);
    });
    await using download = closing();
    await readBy(download, at(server, "/first"));
    sendMore();
    await until("it is closed", () => closed);
    assert.equal(`${await readBy(download, at(server, "/next"))}`, "second");
  });

  it("after bytes that came just before the next request", async () => {
    const sockets: Socket[] = [];
    await using server = await afterFirst((socket) => {
      sockets.push(socket.setNoDelay(true));
      socket.write(`${OK}Content-Length: 5\r\n\r\nfirst`);
    });
    await using download = closing();
    for (let round = 0; round < 50; round += 1) {
      await readBy(download, at(server, "/first"));
      sockets.at(-1)?.write(POISON);
      assert.equal(`${await readBy(download, at(server, "/next"))}`, "second");
    }
  });

  it("when its name has another address by now", async () => {
    await using server = await afterFirst(`${OK}Content-Length: 5\r\n\r\nfirst`);
    const [here, there] = ["93.184.216.34", "93.184.216.35"];
    const names = { "pub.test": [[here], [here], [there]] };
    const network = fakeNetwork({ names, portFor: () => server.port });
    await using download = closing(network);
    for (let round = 0; round < 3; round += 1) await readBy(download, "http://pub.test/first");
    assert.deepEqual(
      network.dialled.map(({ addresses }) => addresses),
      [[here], [there]],
    );
  });

  it("and none is made when its name leads inside by now, alone or among others", async () => {
    await using server = await afterFirst(`${OK}Content-Length: 5\r\n\r\nfirst`);
    const open = "93.184.216.34";
    for (const later of [["10.0.0.1"], [open, "10.0.0.1"], ["169.254.169.254", open]]) {
      const network = fakeNetwork({ names: { "pub.test": [[open], later] }, portFor: () => server.port });
      await using download = closing({ guard: addressGuard({ allowNetworks: [], allowHosts: [] }), ...network });
      await readBy(download, "http://pub.test/first");
      await fails(readBy(download, "http://pub.test/next"), "blocked_destination", false);
      assert.equal(network.dialled.length, 1);
    }
  });
});

describe("a kept connection that the server has closed", () => {
  it("is replaced by a new one", async () => {
    await using server = await afterFirst((socket) => void socket.end(`${OK}Content-Length: 5\r\n\r\nfirst`));
    await using download = closing();
    await readBy(download, at(server, "/first"));
    assert.equal(`${await readBy(download, at(server, "/next"))}`, "second");
    assert.equal(server.connections, 2);
  });

  for (const [how, close] of [
    ["closes", (socket: Socket) => void socket.end()],
    ["resets", (socket: Socket) => void socket.resetAndDestroy()],
  ] as const) {
    it(`is replaced by a new one when it ${how} at the next request`, async () => {
      const used = new WeakSet<Socket>();
      let asked = 0;
      await using server = await rawExchanges((_path, socket) => {
        asked += 1;
        if (used.has(socket)) close(socket);
        else socket.write(SECOND);
        used.add(socket);
      });
      await using download = closing();
      for (let round = 0; round < 3; round += 1) assert.equal(`${await readBy(download, at(server))}`, "second");
      assert.deepEqual([asked, server.connections], [5, 3]);
    });
  }

  it("fails the download when a part of an answer had come", async () => {
    await using server = await rawExchanges((path, socket) => {
      if (path === "/first") socket.write(SECOND);
      else socket.end("HTTP/1.1 2");
    });
    await using download = closing();
    await readBy(download, at(server, "/first"));
    await fails(readBy(download, at(server, "/next")), "ECONNRESET", true);
    assert.equal(server.connections, 1);
  });

  it("is tried once more and not for ever", async () => {
    let asked = 0;
    await using server = await rawExchanges((path, socket) => {
      asked += 1;
      if (path === "/first") socket.write(SECOND);
      else socket.resetAndDestroy();
    });
    await using download = closing();
    await readBy(download, at(server, "/first"));
    await fails(readBy(download, at(server, "/next")), "ECONNRESET", true);
    assert.deepEqual([asked, server.connections], [3, 2]);
  });
});

it("a kept connection on which bytes of the last answer come late is replaced by a new one", async () => {
  const used = new WeakSet<Socket>();
  await using server = await rawExchanges((_path, socket) => {
    socket.write(`${used.has(socket) ? "more than announced" : ""}${SECOND}`);
    used.add(socket);
  });
  await using download = closing();
  for (let round = 0; round < 3; round += 1) assert.equal(`${await readBy(download, at(server))}`, "second");
  assert.equal(server.connections, 3);
});

describe("idle connections", () => {
  it("are few, and none is left when the downloader is closed", async () => {
    const open = new Set<Socket>();
    const waiting: (() => void)[] = [];
    await using server = await rawExchanges((_path, socket) => {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      waiting.push(() => socket.write(SECOND));
      if (waiting.length === 36) for (const answer of waiting) answer();
    });
    await using download = closing();
    await Promise.all(Array.from({ length: 36 }, () => readBy(download, at(server))));
    await until("32 are left", () => open.size === 32);
    await download.close();
    await until("none is left", () => open.size === 0);
  });

  it("are none whose answer was not read to its end, or whose time was up", async () => {
    await using server = await afterFirst(`${OK}Content-Length: 50000\r\n\r\nfirst`);
    await using download = closing();
    for await (const _ of (await download.open(source(at(server, "/first")), never)).bytes) break;
    const stop = new AbortController();
    const bytes = (await download.open(source(at(server, "/first")), stop.signal)).bytes[Symbol.asyncIterator]();
    await bytes.next();
    stop.abort(new Error("enough"));
    await assert.rejects(bytes.next(), /enough/);
    await readBy(download, at(server, "/next"));
    assert.equal(server.connections, 3);
  });
});
