import { once } from "node:events";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import type { SelfSigned } from "./self-signed.ts";

/** A real server on 127.0.0.1 and a free port. Closing it drops its connections. */
export interface LoopbackServer extends AsyncDisposable {
  port: number;
  /** Connections that have been made to it so far. */
  connections: number;
}

export function httpServer(answer: RequestListener): Promise<LoopbackServer> {
  return listening(createHttp(answer));
}

export function httpsServer(identity: SelfSigned, answer: RequestListener): Promise<LoopbackServer> {
  return listening(createHttps(identity, answer));
}

/** For answers that no HTTP server would give. `answer` is called once for each connection, after its first bytes. */
export function rawServer(answer: (socket: Socket) => void): Promise<LoopbackServer> {
  return listening(createTcp((socket) => void socket.once("data", () => answer(socket))));
}

/** The same for connections that are kept: `answer` is called for each request, with its path and connection. */
export function rawExchanges(answer: (path: string, socket: Socket) => void): Promise<LoopbackServer> {
  return listening(
    createTcp((socket) => {
      let text = "";
      socket.on("data", (piece) => {
        text += piece.toString("latin1");
        for (let end = text.indexOf("\r\n\r\n"); end !== -1; end = text.indexOf("\r\n\r\n")) {
          const [, path = ""] = text.split(" ");
          text = text.slice(end + 4);
          answer(path, socket);
        }
      });
    }),
  );
}

async function listening(server: Server): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  const loopback: LoopbackServer = {
    port: 0,
    connections: 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  server.on("connection", (socket: Socket) => {
    loopback.connections += 1;
    sockets.add(socket);
    // Clients that go away in mid-answer are what many tests are about.
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  loopback.port = (server.address() as AddressInfo).port;
  return loopback;
}
