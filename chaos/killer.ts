import { connect, createServer, type Server, type Socket } from "node:net";

/** A file with these bytes ends the worker that shows them to clamd. */
export const KILLER: Buffer = Buffer.from("this kills whoever scans it\n");

/** The way of one worker to clamd, which is only there while clamd is. */
export interface ClamdDoor {
  readonly path: string;
  open(): Promise<void>;
  /** Lets nobody in from now on. Who is in notices by itself when clamd ends. */
  close(): void;
}

/** Looks at all that goes through, and tells when the killer does: before clamd can have said anything of it. */
export function clamdDoor(path: string, clamdPath: string, onKiller: () => void): ClamdDoor {
  let server: Server | undefined;

  function pass(client: Socket): void {
    const clamd = connect(clamdPath);
    for (const socket of [client, clamd]) {
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        clamd.destroy();
      });
    }
    let end: Buffer = Buffer.alloc(0);
    client.on("data", (chunk: Buffer) => {
      const seen = Buffer.concat([end, chunk]);
      if (seen.includes(KILLER)) onKiller();
      end = seen.subarray(Math.max(0, seen.length - KILLER.length + 1));
    });
    client.pipe(clamd).pipe(client);
  }

  return {
    path,
    open() {
      const opened = createServer(pass);
      server = opened;
      return new Promise((resolve, reject) => opened.once("error", reject).listen(path, resolve));
    },
    close() {
      server?.close();
      server = undefined;
    },
  };
}
