import { connect, type Socket } from "node:net";

/** One request, to be sent again and again. */
export interface Load {
  port: number;
  path: string;
  contentType: string;
  /** Sent as they are, in this order; or made for each request. */
  body: readonly Uint8Array[] | ((index: number) => readonly Uint8Array[]);
  /** What every answer must look like. */
  answer: RegExp;
  /** What was sent, for the error when the answer looks otherwise. */
  nameOf?: (index: number) => string;
  connections: number;
  /** Goes on for this long, and for at least one request on each connection; and no further than so many requests. */
  forMs: number;
  atMost?: number;
}

export interface LoadResult {
  requests: number;
  seconds: number;
  /** Milliseconds of each request, sorted. */
  latencies: number[];
}

const SMALL_BYTES = 256 * 1024;

/** Sends requests over keep-alive connections, each as soon as the one before it is answered as it should be. */
export async function run(load: Load): Promise<LoadResult> {
  const { body, atMost = Number.POSITIVE_INFINITY } = load;
  const same = typeof body === "function" ? undefined : request(load, body);
  const latencies: number[] = [];
  let sent = 0;
  const started = performance.now();
  const until = started + load.forMs;

  async function connection(): Promise<void> {
    const socket = connect({ host: "127.0.0.1", port: load.port, noDelay: true });
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    try {
      while (sent < atMost) {
        const index = sent;
        sent += 1;
        const parts = typeof body === "function" ? request(load, body(index)) : (same ?? []);
        const asked = performance.now();
        await exchange(socket, parts, load.answer).catch((error) => {
          throw load.nameOf ? new Error(`${load.nameOf(index)}: ${error.message}`) : error;
        });
        latencies.push(performance.now() - asked);
        if (performance.now() >= until) return;
      }
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

/** As it goes over the wire, in one piece if it is small. */
function request({ path, contentType }: Load, body: readonly Uint8Array[]): readonly Uint8Array[] {
  const length = body.reduce((sum, part) => sum + part.byteLength, 0);
  const head = Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer a-key-for-the-bench\r\nContent-Type: ${contentType}\r\nContent-Length: ${length}\r\n\r\n`,
  );
  return length < SMALL_BYTES ? [Buffer.concat([head, ...body])] : [head, ...body];
}

function exchange(socket: Socket, parts: readonly Uint8Array[], expected: RegExp): Promise<void> {
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
      if (expected.test(text)) done();
      else done(new Error(`unexpected answer: ${text.slice(0, 500)}`));
    };
    socket.on("data", onData).once("error", done).once("close", onClose);
    for (const part of parts) socket.write(part);
  });
}
