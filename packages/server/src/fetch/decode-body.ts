import { pipeline } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import { findings } from "@lazaret/contract";
import { SourceFailed } from "../model/source.ts";
import { failed } from "./download-failure.ts";

type Decoder = ReturnType<typeof createGunzip>;

/** RFC 9659 gives zstd in HTTP a window of 8 MiB; without a limit a few bytes could claim 128 MiB of memory. */
const ZSTD_WINDOW_LOG_MAX = 23;

const decoders: ReadonlyMap<string, () => Decoder> = new Map([
  ["gzip", () => createGunzip()],
  ["x-gzip", () => createGunzip()],
  ["deflate", () => createInflate()],
  ["br", () => createBrotliDecompress()],
  ["zstd", () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } })],
]);

/**
 * A body may become as much larger as a file may that we unpack: text shrinks to a hundredth at most, bombs to a millionth.
 * Below the second number a high ratio does no harm. Both are the same as in the unpacker's limits.
 */
const MAX_RATIO = 200;
const RATIO_FROM_BYTES: number = 64 * 1024 * 1024;

export type Decode = (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

const asTheyAre: Decode = (bytes) => bytes;

/**
 * How to read a body with this `Content-Encoding`. Nothing for encodings we do not know and for more than one: several
 * layers are of no use but to hide or to blow up what is inside.
 */
export function decoderFor(contentEncoding: string): Decode | undefined {
  if (contentEncoding === "") return asTheyAre;
  const names = contentEncoding
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "" && name !== "identity");
  const [name, ...more] = names;
  if (name === undefined) return asTheyAre;
  const create = decoders.get(name);
  return create && more.length === 0 ? (bytes) => decode(bytes, create()) : undefined;
}

/**
 * Decodes as it is read, 16 KiB at a time. Throws what `bytes` throws, or `SourceFailed` for anything but one whole stream,
 * and for one that grows too much. That is measured against what has arrived by then: what is still to come can be promised
 * by anybody.
 */
async function* decode(bytes: AsyncIterable<Uint8Array>, decoder: Decoder): AsyncGenerator<Uint8Array> {
  let received = 0;
  let decoded = 0;
  let broken: { error: unknown } | undefined;

  async function* counted(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of bytes) {
        received += chunk.byteLength;
        yield chunk;
      }
    } catch (error) {
      broken = { error };
      throw error;
    }
  }

  async function* checked(): AsyncGenerator<Uint8Array> {
    try {
      yield* decoder as AsyncIterable<Uint8Array>;
    } catch (error) {
      if (broken) throw broken.error;
      throw failed("bad_encoding", error);
    }
  }

  // Errors come out of the decoder; the pipeline's own report of them is not needed.
  pipeline(counted(), decoder, () => {});
  for await (const chunk of checked()) {
    decoded += chunk.byteLength;
    if (decoded > Math.max(RATIO_FROM_BYTES, MAX_RATIO * received)) throw encodingBomb();
    yield chunk;
  }
  // Node's decoders pass over what follows the end of the stream; a reader of the raw bytes would not.
  if (decoder.bytesWritten !== received) throw failed("bad_encoding");
}

/** The same finding as for an archive that unpacks to too much: the server would send the same again. */
function encodingBomb(): SourceFailed {
  return new SourceFailed({
    finding: findings.limitsExceeded,
    code: "encoding_bomb",
    message: `cannot download: the body decodes to more than ${MAX_RATIO} times what was sent`,
    passing: false,
  });
}
