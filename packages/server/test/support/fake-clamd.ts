import { type AddressInfo, createServer, type Socket } from "node:net";
import type { ClamdAddress } from "../../src/engines/clamd/address.ts";

interface FakeClamdOptions {
  /** A socket there, instead of a TCP port. */
  path?: string;
  onData?: (socket: Socket, data: Buffer) => unknown;
  finds?: (canary: ReceivedStream) => boolean;
}

export interface ReceivedStream {
  number: number;
  content: Buffer;
}

/** Finds something in every stream, as if all were canaries; what it says to those with a "hello" is up to the test. */
export async function fakeClamd(
  answer: (socket: Socket, stream: ReceivedStream) => unknown,
  { onData, finds = () => true, path }: FakeClamdOptions = {},
): Promise<{ address: ClamdAddress } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const take = streamReader((stream) => {
      if (stream.content.includes("hello")) answer(socket, stream);
      else socket.write(`${stream.number}: stream: ${finds(stream) ? "Canary FOUND" : "OK"}\0`);
    });
    socket.on("error", () => {});
    socket.on("data", (data) => {
      onData?.(socket, data);
      take(data);
    });
  });
  const place = path === undefined ? { host: "127.0.0.1", port: 0 } : { path };
  await new Promise<void>((resolve) => server.listen(place, resolve));
  return {
    address:
      path === undefined
        ? { kind: "tcp", host: "127.0.0.1", port: (server.address() as AddressInfo).port }
        : { kind: "unix", path },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Reads IDSESSION as clamd does: commands, and chunks up to an empty one. */
function streamReader(onStream: (stream: ReceivedStream) => void): (data: Buffer) => void {
  let received = Buffer.alloc(0);
  let chunks: Buffer[] | undefined;
  let number = 0;
  return (data) => {
    received = Buffer.concat([received, data]);
    for (;;) {
      if (!chunks) {
        const end = received.indexOf(0);
        if (end === -1) return;
        if (received.subarray(0, end).toString() === "zINSTREAM") chunks = [];
        received = received.subarray(end + 1);
        continue;
      }
      if (received.length < 4 || received.length < 4 + received.readUInt32BE()) return;
      const length = received.readUInt32BE();
      chunks.push(received.subarray(4, 4 + length));
      received = received.subarray(4 + length);
      if (length > 0) continue;
      number += 1;
      onStream({ number, content: Buffer.concat(chunks) });
      chunks = undefined;
    }
  };
}
