import { connect, type Socket } from "node:net";

/** One request, ready to be sent again and again. */
export interface Load {
  port: number;
  path: string;
  contentType: string;
  /** Sent as they are, in this order. */
  body: readonly Uint8Array[];
  connections: number;
  /** Goes on for this long, and for at least one request on each connection. */
  forMs: number;
}

export interface LoadResult {
  requests: number;
  seconds: number;
  /** Milliseconds of each request, sorted. */
  latencies: number[];
}

/** Sends the same request over keep-alive connections, each as soon as the one before it is answered 200 and clean. */
export async function run(load: Load): Promise<LoadResult> {
  const length = load.body.reduce((sum, part) => sum + part.byteLength, 0);
  const head = Buffer.from(
    `POST ${load.path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer bench-key\r\nContent-Type: ${load.contentType}\r\nContent-Length: ${length}\r\n\r\n`,
  );
  const small = length < 256 * 1024 ? [Buffer.concat([head, ...load.body])] : [head, ...load.body];
  const latencies: number[] = [];
  const started = performance.now();
  const until = started + load.forMs;

  async function connection(): Promise<void> {
    const socket = connect({ host: "127.0.0.1", port: load.port, noDelay: true });
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    try {
      do {
        const asked = performance.now();
        await exchange(socket, small);
        latencies.push(performance.now() - asked);
      } while (performance.now() < until);
    } finally {
      socket.destroy();
    }
  }
  await Promise.all(Array.from({ length: load.connections }, connection));
  return {
    requests: latencies.length,
    seconds: (performance.now() - started) / 1000,
    latencies: latencies.sort((a, b) => a - b),
  };
}

function exchange(socket: Socket, parts: readonly Uint8Array[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    const done = (error?: Error): void => {
      socket.off("data", onData).off("error", done).off("close", onClose);
      if (error) reject(error);
      else resolve();
    };
    const onClose = (): void => done(new Error(`closed after: ${text.slice(0, 300)}`));
    const onData = (part: Buffer): void => {
      text += part.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end === -1) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < end + 4 + length) return;
      if (text.startsWith("HTTP/1.1 200") && text.includes('"status":"clean"')) done();
      else done(new Error(`unexpected answer: ${text.slice(0, 500)}`));
    };
    socket.on("data", onData).once("error", done).once("close", onClose);
    for (const part of parts) socket.write(part);
  });
}
