import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import { callbackHeaderNames as names, SIGNATURE_WINDOW_SECONDS } from "../../packages/contract/src/index.ts";
import { listening } from "../listening.ts";
import type { Book } from "./book.ts";
import type { SoakFile } from "./files.ts";

/** The servers of others: where files are fetched from, and where callbacks go to. */
export interface Others extends AsyncDisposable {
  /** A URL under which there is this file, until it is taken back. */
  offer(file: SoakFile): { url: string; takeBack(): void };
  /** Where the callback of this job goes; each 20th goes to a receiver that refuses the first try. */
  callbackUrl(job: number): string;
  trust(publicKeyPem: string): void;
  /** Callbacks that were refused on purpose. */
  readonly refused: number;
}

const EVERY_REFUSED = 20;

export async function others(book: Book): Promise<Others> {
  const offered = new Map<string, SoakFile>();
  const refusedOnce = new Set<string>();
  let publicKey: KeyObject | undefined;
  let [last, refused] = [0, 0];

  const files = await listening((request, response) => {
    const file = offered.get(request.url ?? "");
    if (!file) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Length": file.expected.size });
    for (const part of file.parts) response.write(part);
    response.end();
  });

  const receive = (origin: () => string, refusing: boolean): RequestListener => {
    return async (request, response) => {
      const path = request.url ?? "";
      // A sender that goes away has not delivered.
      const body = await buffer(request).catch(() => undefined);
      if (!body) return;
      if (!isSigned(request, { url: `${origin()}${path}`, body, publicKey })) {
        book.note(`a callback to ${path} was not signed as it should be`);
      }
      if (refusing && !refusedOnce.has(path)) {
        refusedOnce.add(path);
        refused += 1;
        response.writeHead(503).end();
        return;
      }
      refusedOnce.delete(path);
      response.writeHead(204).end();
      book.result(Number(path.slice(1)), JSON.parse(body.toString()));
    };
  };
  const receiver = await listening(receive(() => receiver.origin, false));
  const refusing = await listening(receive(() => refusing.origin, true));

  return {
    offer(file) {
      last += 1;
      const path = `/${last}`;
      offered.set(path, file);
      return { url: `${files.origin}${path}`, takeBack: () => offered.delete(path) };
    },
    callbackUrl: (job) => `${job % EVERY_REFUSED === 0 ? refusing.origin : receiver.origin}/${job}`,
    trust(pem) {
      publicKey = createPublicKey(pem);
    },
    get refused() {
      return refused;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([files, receiver, refusing].map(({ close }) => close()));
    },
  };
}

/** As docs/callbacks.md tells receivers to check it. */
function isSigned(
  { headers }: IncomingMessage,
  { url, body, publicKey }: { url: string; body: Buffer; publicKey: KeyObject | undefined },
): boolean {
  const timestamp = String(headers[names.timestamp.toLowerCase()]);
  const signature = String(headers[names.signature.toLowerCase()]);
  if (!publicKey || !(Math.abs(Date.now() - Number(timestamp)) < SIGNATURE_WINDOW_SECONDS * 1000)) return false;
  const signed = Buffer.concat([Buffer.from(`${timestamp}.${url}.`), body]);
  return verify("sha256", signed, publicKey, Buffer.from(signature, "hex"));
}
