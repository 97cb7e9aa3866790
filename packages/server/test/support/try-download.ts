import assert from "node:assert/strict";
import { type DownloadOptions, type HttpDownload, httpDownload } from "../../src/fetch/http-download.ts";
import { SourceFailed, type SourceFailure, type UrlSource } from "../../src/model/source.ts";
import { addressGuard } from "../../src/net/address-guard.ts";
import { type LoopbackServer, rawServer } from "./loopback-server.ts";

const guard = addressGuard({ allowNetworks: ["127.0.0.1/32"], allowHosts: [] });

/** For downloads that nobody aborts. */
export const never: AbortSignal = new AbortController().signal;

export function source(url: string, headers: Record<string, string> = {}): UrlSource {
  return { kind: "url", url, headers };
}

export function at({ port }: LoopbackServer, path = "/"): string {
  return `http://127.0.0.1:${port}${path}`;
}

/** The real thing; it may also reach 127.0.0.1. */
export function downloader(options: Partial<DownloadOptions> = {}): HttpDownload {
  return httpDownload({ guard, version: "1.2.3", ...options });
}

export async function read(
  url: string,
  headers: Record<string, string> = {},
  options: Partial<DownloadOptions> = {},
): Promise<Buffer> {
  const download = downloader(options);
  try {
    return await readBy(download, url, headers);
  } finally {
    await download.close();
  }
}

/** The same by a downloader that may have connections from before. */
export async function readBy(
  download: HttpDownload,
  url: string,
  headers: Record<string, string> = {},
): Promise<Buffer> {
  const { bytes } = await download.open(source(url, headers), never);
  return Buffer.concat(await Array.fromAsync(bytes));
}

/** Answers with this text, byte for byte, and closes the connection. */
export function rawAnswer(text: string): Promise<LoopbackServer> {
  return rawServer((socket) => void socket.end(text));
}

export async function failureOf(reading: Promise<unknown>): Promise<SourceFailure> {
  const error = await reading.then(
    () => assert.fail("was read to its end"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SourceFailed, `${error}`);
  assert.equal(error.failure.finding, "scanner:download-failed");
  assert.doesNotMatch(error.failure.message, /\d+\.\d+\.\d+\.\d+/);
  return error.failure;
}

export async function fails(reading: Promise<unknown>, code: string, passing: boolean): Promise<void> {
  const failure = await failureOf(reading);
  assert.deepEqual({ code: failure.code, passing: failure.passing }, { code, passing });
}
