import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { fakeNetwork } from "../../test/support/fake-network.ts";
import "../../test/support/leftovers.ts";
import { httpServer, httpsServer, rawServer } from "../../test/support/loopback-server.ts";
import { selfSigned } from "../../test/support/self-signed.ts";
import { until } from "../../test/support/until.ts";
import { addressGuard } from "./address-guard.ts";
import { type ConnectorOptions, guardedConnector } from "./guarded-connector.ts";

const publicOnly = addressGuard({ allowNetworks: [], allowHosts: [] });
const withLoopback = addressGuard({ allowNetworks: ["127.0.0.0/8"], allowHosts: [] });

interface Target {
  url: string;
  signal?: AbortSignal;
}

function connectTo({ url, signal }: Target, options: ConnectorOptions): Promise<Socket> {
  const { protocol, port, hostname } = new URL(url);
  return new Promise((resolve, reject) => {
    guardedConnector(options, signal)({ protocol, port, hostname }, (error, socket) => {
      if (error) reject(error);
      else resolve(socket);
    });
  });
}

const hasCode = (code: string) => (error: unknown) => error instanceof Error && "code" in error && error.code === code;
const resolvingTo = (...addresses: string[]) => ({ lookup: async () => addresses });

describe("the guarded connector", () => {
  it("dials the very addresses it has checked, and resolves once", async () => {
    await using server = await httpServer((_request, response) => response.end());
    const names = { "pub.test": [["93.184.216.34", "2606:4700::1"], ["127.0.0.1"]] };
    const network = fakeNetwork({ names, portFor: () => server.port });
    const socket = await connectTo({ url: "http://pub.test/" }, { guard: publicOnly, ...network });
    socket.destroy();
    assert.deepEqual(network.dialled, [{ host: "pub.test", addresses: ["93.184.216.34", "2606:4700::1"], port: 80 }]);
  });

  it("refuses a name when one of its addresses is refused, and does not tell which", async () => {
    const network = fakeNetwork({ names: { "mixed.test": [["93.184.216.34", "10.7.7.7"]] } });
    await assert.rejects(connectTo({ url: "http://mixed.test/" }, { guard: publicOnly, ...network }), (error) => {
      assert.ok(hasCode("blocked_destination")(error));
      assert.doesNotMatch(String(error), /10\.7\.7\.7|93\.184/);
      return true;
    });
    assert.deepEqual(network.dialled, []);
  });

  it("checks literals, which no lookup is asked about", async () => {
    const network = fakeNetwork({});
    const options = { guard: publicOnly, ...network };
    for (const url of ["http://127.0.0.1/", "https://10.0.0.1/", "http://93.184.216.34:6379/"]) {
      await assert.rejects(connectTo({ url }, options), hasCode("blocked_destination"));
    }
    assert.deepEqual(network.dialled, []);
  });

  it("says that a name without addresses does not exist", async () => {
    const options = { guard: publicOnly, ...resolvingTo() };
    await assert.rejects(connectTo({ url: "http://nobody.test/" }, options), hasCode("ENOTFOUND"));
  });

  it("tries the next address when one refuses, over TCP and without another lookup", async () => {
    await using server = await httpServer((_request, response) => response.end());
    const options = { guard: withLoopback, ...resolvingTo("127.0.0.9", "127.0.0.1") };
    const socket = await connectTo({ url: `http://does-not-exist.test:${server.port}/` }, options);
    assert.equal(socket.remoteAddress, "127.0.0.1");
    socket.destroy();
  });

  it("passes on why no address could be reached", async () => {
    const server = await httpServer(() => {});
    await server[Symbol.asyncDispose]();
    const options = { guard: withLoopback, ...resolvingTo("127.0.0.1", "127.0.0.9") };
    await assert.rejects(connectTo({ url: `http://pub.test:${server.port}/` }, options), hasCode("ECONNREFUSED"));
  });

  it("goes past the proxies of the environment", async () => {
    await using server = await httpServer((_request, response) => response.end());
    const before = { ...process.env };
    Object.assign(process.env, {
      HTTP_PROXY: "http://127.0.0.1:1",
      http_proxy: "http://127.0.0.1:1",
      NODE_USE_ENV_PROXY: "1",
    });
    try {
      const socket = await connectTo({ url: `http://127.0.0.1:${server.port}/` }, { guard: withLoopback });
      assert.equal(socket.remotePort, server.port);
      socket.destroy();
    } finally {
      for (const name of ["HTTP_PROXY", "http_proxy", "NODE_USE_ENV_PROXY"]) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
  });

  it("speaks TLS to the name in the URL, trailing dot or not, and to addresses", async () => {
    const identity = selfSigned("DNS:pub.test", "IP:127.0.0.1");
    await using server = await httpsServer(identity, (_request, response) => response.end());
    const options = { guard: withLoopback, ca: identity.cert, ...resolvingTo("127.0.0.1") };
    for (const [host, servername] of [
      ["pub.test", "pub.test"],
      ["pub.test.", "pub.test"],
      ["127.0.0.1", false],
    ]) {
      const socket = (await connectTo({ url: `https://${host}:${server.port}/` }, options)) as TLSSocket;
      assert.equal(socket.authorized, true);
      assert.equal((socket as TLSSocket & { servername: unknown }).servername || false, servername);
      socket.destroy();
    }
  });

  it("refuses a certificate of another name, or that nobody vouches for", async () => {
    const identity = selfSigned("DNS:pub.test");
    await using server = await httpsServer(identity, (_request, response) => response.end());
    const options = { guard: withLoopback, ...resolvingTo("127.0.0.1") };
    const other = connectTo({ url: `https://other.test:${server.port}/` }, { ...options, ca: identity.cert });
    await assert.rejects(other, hasCode("ERR_TLS_CERT_ALTNAME_INVALID"));
    const unknown = connectTo({ url: `https://pub.test:${server.port}/` }, options);
    await assert.rejects(unknown, hasCode("DEPTH_ZERO_SELF_SIGNED_CERT"));
  });

  it("gives up in time when the name server is silent, or the server in the TLS handshake", async () => {
    const silent = { guard: withLoopback, connectTimeoutMs: 50, lookup: () => new Promise<string[]>(() => {}) };
    await assert.rejects(connectTo({ url: "http://pub.test/" }, silent), hasCode("ETIMEDOUT"));

    let closed = false;
    await using server = await rawServer((socket) => void socket.once("close", () => (closed = true)));
    const options = { guard: withLoopback, connectTimeoutMs: 200, ...resolvingTo("127.0.0.1") };
    await assert.rejects(connectTo({ url: `https://pub.test:${server.port}/` }, options), hasCode("ETIMEDOUT"));
    await until("the server sees the connection closed", () => closed);
  });

  it("says that the connection was reset when the server hangs up in the TLS handshake", async () => {
    await using server = await rawServer((socket) => socket.destroy());
    const options = { guard: withLoopback, ...resolvingTo("127.0.0.1") };
    await assert.rejects(connectTo({ url: `https://pub.test:${server.port}/` }, options), hasCode("ECONNRESET"));
  });

  it("stops connecting when the signal aborts", async () => {
    const stop = new AbortController();
    const reason = new Error("no longer needed");
    const options: ConnectorOptions = {
      guard: publicOnly,
      ...resolvingTo("93.184.216.34"),
      async dial(_target, signal) {
        queueMicrotask(() => stop.abort(reason));
        await once(signal, "abort");
        throw signal.reason;
      },
    };
    const connecting = connectTo({ url: "http://pub.test/", signal: stop.signal }, options);
    await assert.rejects(connecting, (error) => error === reason);
    const late = connectTo({ url: "http://pub.test/", signal: stop.signal }, options);
    await assert.rejects(late, (error) => error === reason);
  });
});
