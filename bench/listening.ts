import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

export interface Listening {
  origin: string;
  close(): Promise<void>;
}

/** A server on loopback that keeps its connections, as those of others do. */
export async function listening(answer: RequestListener): Promise<Listening> {
  const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
