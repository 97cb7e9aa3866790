import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { until } from "../../test/support/until.ts";
import { SourceFailed } from "../model/source.ts";
import { decoderFor } from "./decode-body.ts";

const plain = Buffer.from("what the server has stored ".repeat(4000));
const encodings = {
  gzip: gzipSync(plain),
  deflate: deflateSync(plain),
  br: brotliCompressSync(plain),
  zstd: zstdCompressSync(plain),
};

async function* of(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function decoded(encoding: string, ...chunks: readonly Uint8Array[]): Promise<Buffer> {
  const decode = decoderFor(encoding);
  assert.ok(decode);
  return Buffer.concat(await Array.fromAsync(decode(of(...chunks))));
}

const isBadEncoding = (error: unknown): boolean =>
  error instanceof SourceFailed && error.failure.code === "bad_encoding";

const MIB = 1 << 20;

/** As fast as the compressor can, which is dense enough for zeros. */
const packers: Record<string, (content: Uint8Array) => Buffer> = {
  gzip: (content) => gzipSync(content, { level: 1 }),
  deflate: (content) => deflateSync(content, { level: 1 }),
  br: (content) => brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: (content) => zstdCompressSync(content),
};

/** How many bytes came out, and how it ended. Nothing is kept. */
async function sizeDecoded(encoding: string, encoded: Buffer): Promise<{ bytes: number; code?: string }> {
  const decode = decoderFor(encoding);
  assert.ok(decode);
  let bytes = 0;
  try {
    for await (const chunk of decode(pieces(encoded))) bytes += chunk.byteLength;
  } catch (error) {
    assert.ok(error instanceof SourceFailed, `${error}`);
    assert.deepEqual([error.failure.finding, error.failure.passing], ["scanner:limits-exceeded", false]);
    return { bytes, code: error.failure.code };
  }
  return { bytes };
}

/** As a network hands them over: the whole is not there before most of it has been decoded. */
async function* pieces(encoded: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < encoded.length; at += 16_384) yield encoded.subarray(at, at + 16_384);
}

describe("a body that decodes to much more than was sent", () => {
  for (const [name, pack] of Object.entries(packers)) {
    it(`is read up to 64 MiB, and not a chunk further, from ${name}`, async () => {
      assert.deepEqual(await sizeDecoded(name, pack(Buffer.alloc(64 * MIB))), { bytes: 64 * MIB });
      const { bytes, code } = await sizeDecoded(name, pack(Buffer.alloc(80 * MIB)));
      assert.equal(code, "encoding_bomb");
      assert.ok(bytes <= 64 * MIB, `${bytes} bytes came out`);
    });
  }

  it("is read past 64 MiB as long as it is at most 200 times what was sent", async () => {
    const noise = randomBytes(512 * 1024);
    const pack = packers.br ?? assert.fail();
    const fine = Buffer.concat([noise, Buffer.alloc(70 * MIB)]);
    assert.deepEqual(await sizeDecoded("br", pack(fine)), { bytes: fine.length });
    const bomb = pack(Buffer.concat([noise, Buffer.alloc(120 * MIB)]));
    const { bytes, code } = await sizeDecoded("br", bomb);
    assert.equal(code, "encoding_bomb");
    assert.ok(bytes > 64 * MIB && bytes <= 200 * bomb.length, `${bytes} of ${bomb.length} bytes`);
  });
});

describe("a body that arrives encoded", () => {
  for (const [name, encoded] of Object.entries(encodings)) {
    it(`is decoded from ${name}, in one piece or byte by byte`, async () => {
      assert.deepEqual(await decoded(name, encoded), plain);
      assert.deepEqual(await decoded(name.toUpperCase(), ...[...encoded].map((byte) => Uint8Array.of(byte))), plain);
    });

    it(`fails when the ${name} stream is cut anywhere`, async () => {
      for (const length of [0, 1, encoded.length >> 1, encoded.length - 1]) {
        await assert.rejects(decoded(name, encoded.subarray(0, length)), isBadEncoding, `${length} bytes`);
      }
    });

    it(`fails when something follows the ${name} stream`, async () => {
      for (const more of [Buffer.from([0]), Buffer.alloc(70_000), Buffer.from("hidden"), Buffer.from([0x1f, 0x8b])]) {
        await assert.rejects(decoded(name, Buffer.concat([encoded, more])), isBadEncoding);
        await assert.rejects(decoded(name, encoded, more), isBadEncoding);
      }
    });

    it(`fails when the body is not ${name} at all`, async () => {
      await assert.rejects(decoded(name, Buffer.from("plain text, whatever the header says")), isBadEncoding);
    });
  }

  it("is passed on unchanged when the encoding is identity", async () => {
    for (const name of ["", "identity", " Identity "]) assert.deepEqual(await decoded(name, plain), plain);
  });

  it("is not read when the encoding is unknown, or one of several", () => {
    for (const name of ["compress", "aes128gcm", "gzip, gzip", "gzip, br", "gzip;q=1", "constructor"]) {
      assert.equal(decoderFor(name), undefined, name);
    }
  });

  it("fails for a zstd window that would take more than 8 MiB of memory", async () => {
    const wide = zstdCompressSync(Buffer.alloc(40 << 20), { params: { [constants.ZSTD_c_windowLog]: 25 } });
    await assert.rejects(decoded("zstd", wide), isBadEncoding);
  });

  it("passes on the error of the bytes it decodes", async () => {
    const cut = new Error("cut");
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield encodings.gzip.subarray(0, 50);
      throw cut;
    }
    const decode = decoderFor("gzip");
    assert.ok(decode);
    await assert.rejects(Array.fromAsync(decode(broken())), (error) => error === cut);
  });

  it("is unpacked only as far as it is read: a bomb without end does no harm", async () => {
    const mebibyte = 1 << 20;
    // Blocks that end on a byte can follow each other for ever.
    const block = deflateRawSync(Buffer.alloc(mebibyte), { finishFlush: constants.Z_SYNC_FLUSH });
    let pulled = 0;
    let stopped = false;
    async function* bomb(): AsyncGenerator<Uint8Array> {
      try {
        yield gzipSync("").subarray(0, 10);
        for (;;) {
          pulled += 1;
          yield block;
        }
      } finally {
        stopped = true;
      }
    }
    const decode = decoderFor("gzip");
    assert.ok(decode);
    let read = 0;
    let largest = 0;
    for await (const chunk of decode(bomb())) {
      read += chunk.byteLength;
      largest = Math.max(largest, chunk.byteLength);
      if (read >= 8 * mebibyte) break;
    }
    assert.ok(largest <= 64 * 1024, `a chunk of ${largest} bytes`);
    assert.ok(pulled * block.length <= 512 * 1024, `${pulled} blocks pulled for 8 that were read`);
    await until("the bomb is let go", () => stopped);
  });
});
