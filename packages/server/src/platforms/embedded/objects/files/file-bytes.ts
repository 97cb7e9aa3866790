import { changedMeanwhile, failedBy } from "../object-failure.ts";
import { versionOf } from "./fingerprint.ts";
import type { OpenFile } from "./held-folder.ts";

const CHUNK_BYTES = 256 * 1024;

/**
 * The bytes of a file, to be read once, each chunk when it is asked for. The file is opened with the first, so that bytes
 * nobody reads hold nothing open, and closed after the last, when the reader leaves, or when the signal is aborted.
 * Ends only when the file still is, after its last byte, the one that was opened; else throws `SourceFailed`.
 */
export function fileBytes(open: () => Promise<OpenFile>, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const reading = read(open);
  const stop = (): void => void reading.return(undefined).catch(() => {});
  const forget = (): void => signal.removeEventListener("abort", stop);
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      signal.throwIfAborted();
      signal.addEventListener("abort", stop);
      const next = await reading.next().catch((error) => {
        forget();
        throw error;
      });
      if (next.done) forget();
      // A reading that was stopped would end as if the file did.
      signal.throwIfAborted();
      return next;
    },
    return() {
      forget();
      return reading.return(undefined);
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

async function* read(open: () => Promise<OpenFile>): AsyncGenerator<Uint8Array, undefined> {
  try {
    const { file, stat } = await open();
    await using _ = file;
    let left = Number(stat.size);
    while (left > 0) {
      const chunk = Buffer.allocUnsafe(Math.min(left, CHUNK_BYTES));
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) throw changedMeanwhile();
      left -= bytesRead;
      // Before the last piece is given away, so that who counts bytes does not take it for the end.
      if (left === 0) await mustBe(stat, file);
      yield chunk.subarray(0, bytesRead);
    }
    await mustBe(stat, file);
    return undefined;
  } catch (error) {
    throw failedBy(error, "cannot read the object");
  }
}

async function mustBe(stat: OpenFile["stat"], file: OpenFile["file"]): Promise<void> {
  if (versionOf(await file.stat({ bigint: true })) !== versionOf(stat)) throw changedMeanwhile();
}
