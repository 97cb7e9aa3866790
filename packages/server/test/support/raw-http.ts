import { connect, type Socket } from "node:net";
import { PATIENCE_MS } from "./until.ts";

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Milliseconds until the connection was closed by the server; undefined when it was still open at the answer. */
  closed: boolean;
}

/**
 * Sends bytes as they are, right or wrong, and reads until the server closes or, when `keep`, until one whole answer
 * is there. An answer that never comes is status 0.
 */
export async function rawHttp(
  port: number,
  parts: readonly (string | Uint8Array)[],
  options: { keep?: boolean; limitMs?: number; half?: boolean } = {},
): Promise<RawAnswer> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => {});
  for (const part of parts) if (!socket.destroyed) socket.write(part);
  if (options.half) socket.end();
  const { text, closed } = await receive(socket, options);
  socket.destroy();
  return { ...parse(text), closed };
}

function receive(
  socket: Socket,
  options: { keep?: boolean; limitMs?: number },
): Promise<{ text: string; closed: boolean }> {
  return new Promise((resolve) => {
    let text = "";
    const timer = setTimeout(() => resolve({ text, closed: false }), options.limitMs ?? PATIENCE_MS);
    const end = (closed: boolean): void => {
      clearTimeout(timer);
      resolve({ text, closed });
    };
    socket.setEncoding("latin1");
    socket.on("data", (part: string) => {
      text += part;
      const answer = parse(text);
      if (options.keep && answer.status > 0 && answer.body.length >= Number(answer.headers["content-length"] ?? 0)) {
        end(false);
      }
    });
    socket.on("close", () => end(true));
  });
}

function parse(text: string): Omit<RawAnswer, "closed"> {
  const withoutContinue = text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "");
  const end = withoutContinue.indexOf("\r\n\r\n");
  if (end === -1) return { status: 0, headers: {}, body: "" };
  const [first = "", ...lines] = withoutContinue.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  return { status: Number(first.split(" ")[1]), headers, body: withoutContinue.slice(end + 4) };
}
