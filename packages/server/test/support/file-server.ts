import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { eicar } from "./eicar.ts";

export interface FileServer extends AsyncDisposable {
  origin: string;
  /** Paths in the order they were asked for. */
  readonly asked: readonly string[];
}

const usual: Record<string, RequestListener> = {
  "/clean": (_, response) => response.end("clean file"),
  "/eicar": (_, response) => response.end(eicar()),
  "/missing": (_, response) => response.writeHead(404).end(),
};

/** Files on loopback: /clean, /eicar, /missing, and what a test adds. */
export async function fileServer(more: Record<string, RequestListener> = {}): Promise<FileServer> {
  const asked: string[] = [];
  const answers = { ...usual, ...more };
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0] ?? "";
    asked.push(path);
    (answers[path] ?? answers["/missing"])?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
