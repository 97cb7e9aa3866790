import { once } from "node:events";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import type { SelfSigned } from "./self-signed.ts";

/** One POST, byte for byte: nothing is joined, sorted or put into lower case. */
export interface ReceivedCallback {
  /** `POST /path HTTP/1.1` */
  requestLine: string;
  /** As they stood on the wire. */
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
  /** Head and body together. */
  bytes: Buffer;
  /** The values of all headers of that name, in whatever case. */
  values(name: string): string[];
}

/** What the receiver does with a request; it may do nothing. */
export type CallbackAnswer = (socket: Socket, request: ReceivedCallback) => void;

export interface CallbackReceiver extends AsyncDisposable {
  /** `http://127.0.0.1:port` */
  origin: string;
  readonly requests: readonly ReceivedCallback[];
  /** Connections that have been made so far, and those that are open now. */
  readonly connections: number;
  readonly openConnections: number;
}

export interface ReceiverOptions {
  /** Speaks TLS with it. */
  identity?: SelfSigned;
  /** Called for each connection before anything is read. */
  onConnection?: (socket: Socket) => void;
}

/** A receiver on loopback that answers as it is told, valid HTTP or not. Connections are kept until it closes them. */
export async function callbackReceiver(
  answer: CallbackAnswer,
  { identity, onConnection }: ReceiverOptions = {},
): Promise<CallbackReceiver> {
  const requests: ReceivedCallback[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;

  const serve = (socket: Socket): void => {
    let unread: Buffer = Buffer.alloc(0);
    socket.on("data", (piece) => {
      unread = Buffer.concat([unread, piece]);
      for (let request = readRequest(unread); request; request = readRequest(unread)) {
        unread = unread.subarray(request.bytes.length);
        requests.push(request);
        answer(socket, request);
      }
    });
    socket.on("error", () => {});
    onConnection?.(socket);
  };
  const server: Server = identity ? createTls(identity, serve) : createTcp(serve);
  server.on("connection", (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    // Senders that go away in mid-answer are what many tests are about.
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    origin: `${identity ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get connections() {
      return connections;
    },
    get openConnections() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** A whole answer, after which the connection stays open. */
export function answering(status: number, headers: Readonly<Record<string, string>> = {}, body = ""): CallbackAnswer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = `HTTP/1.1 ${status} Said\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${lines.join("")}\r\n${body}`;
  return (socket) => void socket.write(text);
}

/** Reads the request and says nothing. */
export const silent: CallbackAnswer = () => {};

/** The first answers in turn, then the last for ever. */
export function inTurn(...answers: readonly CallbackAnswer[]): CallbackAnswer {
  let turn = 0;
  return (socket, request) => {
    answers[Math.min(turn++, answers.length - 1)]?.(socket, request);
  };
}

/** The first whole request in the bytes, framed by Content-Length. */
function readRequest(bytes: Buffer): ReceivedCallback | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [requestLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const headers = lines.map((each): [string, string] => {
    const colon = each.indexOf(":");
    return [each.slice(0, colon), each.slice(colon + 1).trim()];
  });
  const values = (name: string): string[] =>
    headers.filter(([each]) => each.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  const end = headEnd + 4 + Number(values("content-length")[0] ?? 0);
  if (bytes.length < end) return undefined;
  return { requestLine, headers, body: bytes.subarray(headEnd + 4, end), bytes: bytes.subarray(0, end), values };
}
