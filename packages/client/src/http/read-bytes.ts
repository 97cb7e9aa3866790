/** Thrown when more comes than was allowed. */
export class TooManyBytes extends Error {}

/** What a web stream gives, one chunk after the other. Not every runtime can iterate the stream itself. */
export async function* chunksOf<Chunk>(reader: ReadableStreamDefaultReader<Chunk>): AsyncGenerator<Chunk, void> {
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** All bytes of a body, or TooManyBytes. */
export async function readBytes(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  if (!body) return joined(chunks);
  const reader = body.getReader();
  let size = 0;
  for await (const chunk of chunksOf(reader)) {
    size += chunk.length;
    chunks.push(chunk);
    if (size > maxBytes) {
      await reader.cancel();
      throw new TooManyBytes(`more than ${maxBytes} bytes`);
    }
  }
  return joined(chunks);
}

/** The bytes of a buffer or of a view of one, also of one that another realm made; undefined for anything else. */
export function bytesIn(value: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return Object.prototype.toString.call(value) === "[object ArrayBuffer]"
    ? new Uint8Array(value as ArrayBuffer)
    : undefined;
}

export function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((size, chunk) => size + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
