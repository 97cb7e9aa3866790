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
  /** So much is kept while nobody needs it, of what was used last. */
  keptBytes: number;
  /** What nobody has used for that long, or up to twice as long, is freed. */
  idleMs?: number;
}

/** Of many sizes hardly any would be used again. */
const SMALLEST_BYTES: number = 128 * 1024;
const IDLE_MS = 60_000;

interface Kept {
  memory: ArrayBuffer;
  /** In which turn of the watch it was given back. */
  turn: number;
}

/** How large the room is that such a file gets. */
export function roomBytes(bytes: number): number {
  let size = SMALLEST_BYTES;
  while (size < bytes) size *= 2;
  return size;
}

export function rooms({ keptBytes, idleMs = IDLE_MS }: RoomsOptions): Rooms {
  /** In the order in which they were given back; for 8 MB, 64 at most. */
  const kept: Kept[] = [];
  let size = 0;
  let turn = 0;
  let watch: NodeJS.Timeout | undefined;

  function freeWhile(isTooMuch: (first: Kept) => boolean): void {
    for (let first = kept[0]; first && isTooMuch(first); first = kept[0]) {
      kept.shift();
      size -= first.memory.byteLength;
      freeMemory(new Uint8Array(first.memory));
    }
  }

  function freeIdle(): void {
    freeWhile((first) => first.turn < turn);
    turn += 1;
    if (kept.length > 0) return;
    clearInterval(watch);
    watch = undefined;
  }

  return {
    take(bytes) {
      const wanted = roomBytes(bytes);
      // The one that was used last: its pages are at hand.
      const at = kept.findLastIndex(({ memory }) => memory.byteLength === wanted);
      const [again] = at === -1 ? [] : kept.splice(at, 1);
      if (again) size -= wanted;
      // Not filled with zeros, and no part of a pool.
      return new Uint8Array(again?.memory ?? Buffer.allocUnsafeSlow(wanted).buffer);
    },
    giveBack({ buffer }) {
      const bytes = buffer.byteLength;
      if (bytes === 0) return;
      if (!(buffer instanceof ArrayBuffer) || bytes !== roomBytes(bytes) || bytes > keptBytes) {
        freeMemory(new Uint8Array(buffer));
        return;
      }
      freeWhile(() => size + bytes > keptBytes);
      kept.push({ memory: buffer.transfer(), turn });
      size += bytes;
      watch ??= setInterval(freeIdle, idleMs).unref();
    },
  };
}
