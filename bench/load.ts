import { connect, type Socket } from "node:net";

/** One request, to be sent again and again. */
export interface Load {
  port: number;
  path: string;
  contentType: string;
  /** Sent as they are, in this order; or made for each request. */
  body: readonly Uint8Array[] | ((index: number) => readonly Uint8Array[]);
  /** The text that every answer must have; any status if none is named. */
  answer: { status?: number; text: string };
  /** What was sent, for the error when the answer is another. */
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
/** An answer of ours has less than 1 KB. */
const ANSWER_BYTES = 64 * 1024;

/** Sends requests over keep-alive connections, each as soon as the one before it is answered as it should be. */
export async function run(load: Load): Promise<LoadResult> {
  const { body, atMost = Number.POSITIVE_INFINITY } = load;
  const same = typeof body === "function" ? undefined : request(load, body);
  const latencies: number[] = [];
  let sent = 0;
  const started = performance.now();
  const until = started + load.forMs;

  async function connection(): Promise<void> {
    const { exchange, close } = await open(load);
    try {
      while (sent < atMost) {
        const index = sent;
        sent += 1;
        const parts = typeof body === "function" ? request(load, body(index)) : (same ?? []);
        const asked = performance.now();
        await exchange(parts).catch((error) => {
          throw load.nameOf ? new Error(`${load.nameOf(index)}: ${error.message}`) : error;
        });
        const answered = performance.now();
        latencies.push(answered - asked);
        if (answered >= until) return;
      }
    } finally {
      close();
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

interface Connection {
  exchange(parts: readonly Uint8Array[]): Promise<void>;
  close(): void;
}

/**
 * What this process spends, those that are measured cannot have: listeners are set once for all exchanges, bytes are
 * read into one buffer, and parts leave in one write.
 */
async function open({ port, answer }: Load): Promise<Connection> {
  const begin = `HTTP/1.1 ${answer.status ?? ""}`;
  let text = "";
  let settle: { resolve(): void; reject(error: Error): void } | undefined;

  const end = (error?: Error): void => {
    const waiting = settle;
    settle = undefined;
    if (error) waiting?.reject(error);
    else waiting?.resolve();
  };
  const read = (bytes: number, buffer: Uint8Array): boolean => {
    text += (buffer as Buffer).toString("latin1", 0, bytes);
    const headEnd = text.indexOf("\r\n\r\n");
    if (headEnd === -1) return true;
    if (text.length < headEnd + 4 + contentLength(text.slice(0, headEnd))) return true;
    const asWanted = text.startsWith(begin) && text.includes(answer.text);
    end(asWanted ? undefined : new Error(`unexpected answer: ${text.slice(0, 500)}`));
    return true;
  };

  const socket: Socket = connect({
    host: "127.0.0.1",
    port,
    noDelay: true,
    onread: { buffer: Buffer.allocUnsafe(ANSWER_BYTES), callback: read },
  });
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.on("error", end).on("close", () => end(new Error(`closed after: ${text.slice(0, 300)}`)));
  return {
    exchange(parts) {
      text = "";
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
        if (socket.destroyed) end(new Error("closed before the request"));
        socket.cork();
        for (const part of parts) socket.write(part);
        socket.uncork();
      });
    },
    close: () => socket.destroy(),
  };
}

function contentLength(head: string): number {
  return Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
}
