import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { temporaryFolder } from "./leftovers.ts";

/** A way to a server on which an answer can be lost. */
export interface PostgresProxy extends AsyncDisposable {
  readonly url: string;
  /**
   * The next answer of the server does not arrive: what it was asked is done, then this is awaited, then the connection breaks.
   */
  loseNextAnswer(meanwhile: () => Promise<unknown>): void;
}

export async function postgresProxy(serverUrl: string): Promise<PostgresProxy> {
  const folder = temporaryFolder();
  const target = join(new URLSearchParams(serverUrl.split("?")[1]).get("host") ?? "", ".s.PGSQL.5432");
  const sockets = new Set<Socket>();
  let meanwhile: (() => Promise<unknown>) | undefined;

  const proxy = createServer((client) => {
    const server = connect(target);
    let lost = false;
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server);
    server.on("data", (data) => {
      if (lost) return;
      if (!meanwhile) return void client.write(data);
      lost = true;
      const work = meanwhile;
      meanwhile = undefined;
      void work().finally(() => client.destroy());
    });
  });
  proxy.listen(join(folder.path, ".s.PGSQL.5432"));
  await once(proxy, "listening");
  return {
    url: serverUrl.replace(/host=[^&]*/, `host=${encodeURIComponent(folder.path)}`),
    loseNextAnswer(work) {
      meanwhile = work;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, "close");
      folder[Symbol.dispose]();
    },
  };
}
