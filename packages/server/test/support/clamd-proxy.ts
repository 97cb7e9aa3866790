import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";
import type { ClamdAddress } from "../../src/engines/clamd/address.ts";

export interface ClamdProxy extends AsyncDisposable {
  address: ClamdAddress;
  /** Connections made so far. */
  readonly connections: number;
  /** Cuts every connection, as a restart of clamd does. */
  cut(): void;
}

/** A TCP port on loopback that leads to a real clamd's socket. */
export async function clamdProxy(socketPath: string): Promise<ClamdProxy> {
  const sockets = new Set<Socket>();
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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: { kind: "tcp", host: "127.0.0.1", port: (server.address() as AddressInfo).port },
    get connections() {
      return connections;
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
