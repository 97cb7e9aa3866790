import { closeSync, writeSync } from "node:fs";
import { type Blob, fileBlob, memoryBlob } from "./blob.ts";
import { namelessFile, roomIn } from "./temporary-files.ts";

/**
 * Where members stand while they are looked at: small ones in memory, larger ones one behind the other in a file without a
 * name. Most are dropped at once and their room is used again; archives are kept until it is their turn.
 */
export interface MemberStore extends Disposable {
  begin(): void;
  append(bytes: Uint8Array): void;
  /** The member as written since `begin`, good until the next `begin`. */
  content(): Blob;
  /** The same, good until it is released. */
  keep(): { content: Blob; release(): void };
}

const FIRST_BYTES = 64 * 1024;
/** Larger members are written to disk. */
const IN_MEMORY_BYTES = 1024 * 1024;
/** Containers found inside a container wait for their turn: up to this much in memory, the rest on disk. */
const WAITING_BYTES = 16 * 1024 * 1024;

export function memberStore(folder: string): MemberStore {
  let small = Buffer.alloc(0);
  let descriptor: number | undefined;
  let fileEnd = 0;
  let start = 0;
  let length = 0;
  let onDisk = false;
  let keptInMemory = 0;
  /** How large the file has become: room that was written to before is ours already. */
  let highest = 0;
  const room = roomIn(folder);

  function write(bytes: Uint8Array, position: number): void {
    const end = position + bytes.length;
    room.claimSync(Math.max(0, end - highest));
    highest = Math.max(highest, end);
    descriptor ??= namelessFile(folder);
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
    }
  }

  function grow(atLeast: number): void {
    const larger = Buffer.alloc(Math.min(IN_MEMORY_BYTES, Math.max(atLeast, small.length * 2, FIRST_BYTES)));
    larger.set(small.subarray(0, length));
    small = larger;
  }

  function moveToDisk(): void {
    start = fileEnd;
    write(small.subarray(0, length), start);
    onDisk = true;
  }

  function content(): Blob {
    return onDisk && descriptor !== undefined
      ? fileBlob(descriptor, start, length)
      : memoryBlob(small.subarray(0, length));
  }

  return {
    content,
    begin() {
      length = 0;
      onDisk = false;
    },
    append(bytes) {
      if (!onDisk && length + bytes.length > IN_MEMORY_BYTES) moveToDisk();
      if (!onDisk && length + bytes.length > small.length) grow(length + bytes.length);
      if (onDisk) write(bytes, start + length);
      else small.set(bytes, length);
      length += bytes.length;
    },
    keep() {
      if (!onDisk && keptInMemory + length <= WAITING_BYTES) {
        const size = length;
        keptInMemory += size;
        const release = (): void => {
          keptInMemory -= size;
        };
        return { content: memoryBlob(Uint8Array.from(small.subarray(0, size))), release };
      }
      if (!onDisk) moveToDisk();
      fileEnd = start + length;
      return { content: content(), release: () => {} };
    },
    [Symbol.dispose]() {
      if (descriptor !== undefined) closeSync(descriptor);
    },
  };
}
