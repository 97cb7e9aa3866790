import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";
import type { ClamdAddress } from "../../src/engines/clamd/address.ts";

export interface ClamdProxy extends AsyncDisposable {
  address: ClamdAddress;
  /** Connections made so far. */
  readonly connections: number;
  /** Cuts every connection, as a restart of clamd does. */
  cut(): void;
  /** The same, and from then on it leads to another one. */
  leadTo(socketPath: string): void;
}

/** A TCP port on loopback, or a socket at a path, as systemd keeps one for clamd, that leads to a real clamd's socket. */
export async function clamdProxy(first: string, at?: string): Promise<ClamdProxy> {
  const sockets = new Set<Socket>();
  let socketPath = first;
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const upstream = connect(socketPath);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  const place = at === undefined ? { host: "127.0.0.1", port: 0 } : { path: at };
  await new Promise<void>((resolve) => server.listen(place, resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address:
      at === undefined
        ? { kind: "tcp", host: "127.0.0.1", port: (server.address() as AddressInfo).port }
        : { kind: "unix", path: at },
    get connections() {
      return connections;
    },
    cut,
    leadTo(next) {
      socketPath = next;
      cut();
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
