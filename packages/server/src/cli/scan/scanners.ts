import { open } from "node:fs/promises";
import { type FileInput, type Lazaret, LazaretError, UnauthorizedError, UnreachableError } from "@lazaret/client";
import { CannotStart } from "../../compose/cannot-start.ts";
import type { LocalScan } from "../../compose/scanning.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import type { Report } from "../../model/report.ts";
import type { Source } from "../../model/source.ts";
import { statusOf } from "../../model/verdict.ts";
import { CommandFailed, exitCodes } from "../exit-codes.ts";
import { failed, withoutHint } from "../server-connection.ts";
import type { OnBytes, ScanItem, Scanned, Scanner } from "./scan-all.ts";

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

/** Scans in this process, with the engine of the settings. */
export function localScanner(local: LocalScan): Scanner {
  return {
    async scan(item, onBytes, signal) {
      let source: Source & Partial<AsyncDisposable>;
      try {
        source = await sourceOf(item, onBytes);
      } catch (error) {
        return unreadable(error);
      }
      try {
        return asScanned(await local.inspect(source, signal));
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof CannotStart) throw error;
        // What the file system says about the file.
        if (error instanceof Error && "syscall" in error) return unreadable(error);
        if (!(error instanceof EngineUnavailable)) throw error;
        if (error.whileScanning) return { status: "no", finding: "scanner:engine-error", message: error.message };
        throw new CommandFailed(exitCodes.unreachable, error.message, {
          hint: "start clamd, or say where it listens with --clamd; lazaret doctor tells more",
          cause: error,
        });
      } finally {
        await source[Symbol.asyncDispose]?.();
      }
    },
    [Symbol.asyncDispose]: () => local[Symbol.asyncDispose](),
  };
}

type Openable = Exclude<ScanItem, { kind: "unreadable" }>;

async function sourceOf(item: Openable, onBytes: OnBytes): Promise<Source & Partial<AsyncDisposable>> {
  switch (item.kind) {
    case "stdin":
      return { kind: "upload", bytes: counted(process.stdin, onBytes) };
    case "url":
      return { kind: "url", url: item.url, headers: {} };
    case "object":
      return { kind: "object", bucket: item.bucket, key: item.key };
    case "file": {
      const handle = await open(item.path);
      const stats = await handle.stat();
      return {
        kind: "upload",
        bytes: counted(handle.createReadStream({ autoClose: false }), onBytes),
        // Files that are made while they are read say 0, and pipes do too.
        ...(stats.isFile() && stats.size > 0 && { announcedBytes: stats.size }),
        [Symbol.asyncDispose]: () => handle.close(),
      };
    }
  }
}

async function* counted(bytes: AsyncIterable<Uint8Array>, onBytes: OnBytes): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const chunk of bytes) {
    read += chunk.byteLength;
    onBytes(read);
    yield chunk;
  }
}

function asScanned({ verdict, sizeBytes, failure }: Report): Scanned {
  return {
    status: statusOf(verdict),
    ...(verdict.kind !== "clean" && { finding: verdict.finding }),
    ...(verdict.kind === "infected" && verdict.member && { member: verdict.member }),
    ...(verdict.kind === "unscannable" && verdict.detail && { message: verdict.detail }),
    ...(failure && { message: failure.message }),
    size: sizeBytes,
    ...(verdict.fileType !== undefined && { realfiletype: verdict.fileType }),
  };
}

function unreadable(error: unknown): Scanned {
  return { status: "no", finding: "unreadable_file", message: error instanceof Error ? error.message : String(error) };
}
