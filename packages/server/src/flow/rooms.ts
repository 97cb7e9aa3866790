import { giveBack as freeMemory } from "./passing-buffers.ts";

/**
 * Room for files that are here as a whole, which is used again for others. Made anew for each, a megabyte at a time, it has V8 collect
 * everything over and over: memory of uploads counts as if the heap had grown (docs/decisions/0048-rooms-used-again.md).
 */
export interface Rooms {
  /** For so many bytes, and for no more than twice as many. Bytes of another file may still be in it. */
  take(bytes: number): Uint8Array<ArrayBuffer>;
  /**
   * Only when nobody reads it any more, and that goes for a write that is not done. Whoever has kept it has no bytes from then on, and not those of
   * the next file. What is no room is freed.
   */
  giveBack(room: Uint8Array): void;
}

export interface RoomsOptions {
  /** So much is kept while nobody needs it. */
  keptBytes: number;
  /** When nobody has taken any for that long, none is kept. */
  idleMs?: number;
}

/** Of many sizes hardly any would be used again. */
const SMALLEST_BYTES: number = 128 * 1024;
const IDLE_MS = 60_000;

/** How large the room is that such a file gets. */
export function roomBytes(bytes: number): number {
  let size = SMALLEST_BYTES;
  while (size < bytes) size *= 2;
  return size;
}

export function rooms({ keptBytes, idleMs = IDLE_MS }: RoomsOptions): Rooms {
  /** By their size, the one that was used last at the end: its pages are at hand. */
  const free = new Map<number, ArrayBuffer[]>();
  let kept = 0;
  let takenSince = false;
  let watch: NodeJS.Timeout | undefined;

  function dropIfIdle(): void {
    if (takenSince) {
      takenSince = false;
      return;
    }
    clearInterval(watch);
    watch = undefined;
    for (const buffers of free.values()) for (const buffer of buffers) freeMemory(new Uint8Array(buffer));
    free.clear();
    kept = 0;
  }

  return {
    take(bytes) {
      const size = roomBytes(bytes);
      takenSince = true;
      const again = free.get(size)?.pop();
      if (again) kept -= size;
      // Not filled with zeros, and no part of a pool.
      return new Uint8Array(again ?? Buffer.allocUnsafeSlow(size).buffer);
    },
    giveBack({ buffer }) {
      const size = buffer.byteLength;
      if (size === 0) return;
      if (!(buffer instanceof ArrayBuffer) || size !== roomBytes(size) || kept + size > keptBytes) {
        freeMemory(new Uint8Array(buffer));
        return;
      }
      const room = buffer.transfer();
      const others = free.get(size);
      if (others) others.push(room);
      else free.set(size, [room]);
      kept += size;
      watch ??= setInterval(dropIfIdle, idleMs).unref();
    },
  };
}
