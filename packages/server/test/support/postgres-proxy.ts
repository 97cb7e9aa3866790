import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { temporaryFolder } from "./leftovers.ts";

/** A way to a server on which an answer can be lost, or the connection cut between any two messages. */
export interface PostgresProxy extends AsyncDisposable {
  readonly url: string;
  /**
   * The next answer of the server does not arrive: what it was asked is done, then this is awaited, then the connection breaks.
   */
  loseNextAnswer(meanwhile: () => Promise<unknown>): void;
  /**
   * The connection on which the next statement comes breaks after so many messages from that side. Answers a function that gives that
   * up, and tells whether it has happened.
   */
  cutAfter(messages: number, from: Side): () => boolean;
}

export type Side = "client" | "server";

interface Cut {
  messages: number;
  from: Side;
  /** Undefined until a statement comes. */
  on: Socket | undefined;
  done: boolean;
}

export async function postgresProxy(serverUrl: string): Promise<PostgresProxy> {
  const folder = temporaryFolder();
  const target = join(new URLSearchParams(serverUrl.split("?")[1]).get("host") ?? "", ".s.PGSQL.5432");
  const sockets = new Set<Socket>();
  let meanwhile: (() => Promise<unknown>) | undefined;
  let cut: Cut | undefined;

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

    /** Passes messages on, whole, until the connection is to break. */
    function forward(from: Side, to: Socket, message: Buffer, started: boolean): void {
      if (cut && started && from === "client") cut.on ??= client;
      if (cut?.on !== client || cut.from !== from) return void to.write(message);
      cut.messages -= 1;
      if (cut.messages >= 0) return void to.write(message);
      cut.done = true;
      cut = undefined;
      lost = true;
      // What was passed on before arrives.
      client.end();
      server.end();
    }

    const fromClient = messagesIn((message, started) => lost || forward("client", server, message, started), false);
    client.on("data", fromClient);
    const fromServer = messagesIn((message) => lost || forward("server", client, message, true), true);
    server.on("data", (data) => {
      if (lost) return;
      if (!meanwhile) return fromServer(data);
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
    cutAfter(messages, from) {
      const armed: Cut = { messages, from, on: undefined, done: false };
      cut = armed;
      return () => {
        if (cut === armed) cut = undefined;
        return armed.done;
      };
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, "close");
      folder[Symbol.dispose]();
    },
  };
}

/** Takes bytes apart into messages: a letter, but for the first of a client, then a length that counts itself. */
function messagesIn(take: (message: Buffer, started: boolean) => unknown, started: boolean): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let begun = started;
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const letter = begun ? 1 : 0;
      if (rest.length < letter + 4) return;
      const length = letter + rest.readInt32BE(letter);
      if (rest.length < length) return;
      take(rest.subarray(0, length), begun);
      rest = rest.subarray(length);
      begun = true;
    }
  };
}
