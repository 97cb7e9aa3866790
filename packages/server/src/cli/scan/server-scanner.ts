import { type FileInput, type Lazaret, LazaretError, UnauthorizedError, UnreachableError } from "@lazaret/client";
import { failed, withoutHint } from "../reach/server-connection.ts";
import type { OnBytes, ScanItem, Scanned, Scanner } from "./scanned.ts";

const STILL_THERE = { retries: 1, timeoutMs: 10_000 };

/** Scans by the synchronous API. Asks first whether the server is there and takes the key. */
export async function serverScanner(client: Lazaret, signal: AbortSignal): Promise<Scanner> {
  await client.checkKey({ signal }).catch(failed);
  return {
    async scan(item, onBytes, scanSignal) {
      try {
        return await ask(client, item, { onBytes, signal: scanSignal });
      } catch (error) {
        if (!(error instanceof LazaretError)) throw error;
        if (error instanceof UnauthorizedError) failed(error);
        // One file may break a connection; without a server no further one can be scanned.
        if (error instanceof UnreachableError)
          await client.checkKey({ ...STILL_THERE, signal: scanSignal }).catch(failed);
        return { status: "no", finding: error.code, message: saidBy(error) };
      }
    },
    async [Symbol.asyncDispose]() {},
  };
}

async function ask(
  client: Lazaret,
  item: Exclude<ScanItem, { kind: "unreadable" }>,
  { onBytes, signal }: { onBytes: OnBytes; signal: AbortSignal },
): Promise<Scanned> {
  const upload = (file: FileInput): Promise<Scanned> =>
    client.scan({ file }, { signal, onProgress: ({ sentBytes }) => onBytes(sentBytes) });
  switch (item.kind) {
    case "stdin":
      return upload(process.stdin);
    case "file":
      return upload(item.path);
    case "url":
      return client.scan({ url: item.url }, { signal });
    case "object":
      return client.scan({ bucket: item.bucket, key: item.key }, { signal });
  }
}

/** Without the request it was about, which is the same for all files. */
function saidBy(error: LazaretError): string {
  return withoutHint(error).replace(/^(?:GET|POST) \S+ at \S+: (?:\d{3}, )?/, "");
}
