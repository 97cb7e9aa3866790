/**
 * Bytes that are all here. They can be read as any others; who knows them takes them at once, without a promise for each
 * step. Nobody changes them.
 */
export interface WholeBytes extends AsyncIterable<Uint8Array> {
  /** All of them, which counts as read to the end. */
  takeAll(): Uint8Array;
}

export function wholeBytes(content: Uint8Array, onTaken: () => void = () => {}): WholeBytes {
  return new Whole(content, onTaken);
}

/** A class, because an object that is written down with its iterator costs more than all that is done with it: here and below. */
class Whole implements WholeBytes {
  readonly #content: Uint8Array;
  readonly #onTaken: () => void;

  constructor(content: Uint8Array, onTaken: () => void) {
    this.#content = content;
    this.#onTaken = onTaken;
  }

  takeAll(): Uint8Array {
    this.#onTaken();
    return this.#content;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    let given = this.#content.byteLength === 0;
    return {
      next: async () => {
        if (!given) {
          given = true;
          return { done: false, value: this.#content };
        }
        this.#onTaken();
        return { done: true, value: undefined };
      },
      return: async () => ({ done: true, value: undefined }),
    };
  }
}

/** Bytes that are all here, and are looked at when they are taken: `take` throws what is wrong with them. */
export function wholeWhenTaken(take: () => Uint8Array): WholeBytes {
  return new WholeWhenTaken(take);
}

class WholeWhenTaken implements WholeBytes {
  readonly takeAll: () => Uint8Array;

  constructor(take: () => Uint8Array) {
    this.takeAll = take;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const content = this.takeAll();
    if (content.byteLength > 0) yield content;
  }
}

/** Bytes as an iterator gives them that is made by hand: a generator takes three promises more for each piece. */
export function readBy(read: () => AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  return new ReadBy(read);
}

class ReadBy implements AsyncIterable<Uint8Array> {
  readonly #read: () => AsyncIterator<Uint8Array>;

  constructor(read: () => AsyncIterator<Uint8Array>) {
    this.#read = read;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#read();
  }
}

/** How many bytes their sender promised, where it did. Good for choosing a way, not for believing. */
export function announcedBytes(bytes: AsyncIterable<Uint8Array>): number | undefined {
  return "announcedBytes" in bytes && typeof bytes.announcedBytes === "number" ? bytes.announcedBytes : undefined;
}

export function isWhole(bytes: AsyncIterable<Uint8Array>): bytes is WholeBytes {
  return "takeAll" in bytes;
}
