// Serves the route handler of examples/nextjs as Next.js' own server does: a Request goes in, a Response comes out.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { POST } from "../../../../examples/nextjs/app/upload/route.ts";

async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
  const request = new Request(`http://127.0.0.1${message.url}`, {
    method: "POST",
    headers: new Headers(message.headers as Record<string, string>),
    body: Readable.toWeb(message) as ReadableStream<Uint8Array>,
    duplex: "half",
  });
  const { status, headers, body } = await POST(request);
  response.writeHead(status, Object.fromEntries(headers));
  if (body) for await (const piece of body) response.write(piece);
  response.end();
}

const server = createServer((message, response) => void answer(message, response)).listen(0, "127.0.0.1");
await once(server, "listening");
process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
