import { type Blob, memoryBlob } from "../../unpack/blob.ts";
import { TOGETHER_BYTES, TOGETHER_COUNT, TOGETHER_EACH_BYTES } from "../threads/scan-limits.ts";
import type { CompiledRules } from "./compile-rules.ts";

/** Matches many contents in few scans, where the rules allow for it. */
export interface Together {
  /** Copies what is small; what is not is matched at once. */
  add(content: Blob, path: string): void;
  /** Matches what has been added and not been matched yet. */
  finish(): void;
}

/** `match` looks at one content, and throws if a rule matches it. `memory` is for the contents. */
export function matchTogether(
  rules: CompiledRules,
  memory: Uint8Array,
  match: (content: Blob, path: string) => void,
): Together {
  const joined = joinedContents(memory);
  let paths: string[] = [];

  function finish(): void {
    const lengths = [...joined.lengths];
    const names = paths;
    joined.clear();
    paths = [];
    if (lengths.length > 1 && rules.mayMatch?.(asOne(memory, lengths)) === false) return;
    for (const [index, content] of oneByOne(memory, lengths).entries()) match(memoryBlob(content), names[index] ?? "");
  }

  return {
    add(content, path) {
      if (!rules.mayMatch || content.size > TOGETHER_EACH_BYTES) {
        match(content, path);
        return;
      }
      const bytes = content.bytes(0, content.size);
      if (!joined.add(bytes)) {
        finish();
        joined.add(bytes);
      }
      paths.push(path);
    },
    finish,
  };
}

/** What stands between the contents: no part of a word, so that words end where contents do. */
const SEPARATOR = Uint8Array.of(0x0a, 0x00, 0x0a);

/** Room for as many contents as are looked at together. */
export const JOINED_BYTES: number = TOGETHER_BYTES + TOGETHER_COUNT * SEPARATOR.length;

/** Several small contents one behind the other, in memory that is used again and again. */
export interface JoinedContents {
  /** Copies the content behind the others; false if there is no room. */
  add(content: Uint8Array): boolean;
  /** How long each of them is: together with the memory, that is all of it. */
  readonly lengths: readonly number[];
  clear(): void;
}

export function joinedContents(memory: Uint8Array): JoinedContents {
  const lengths: number[] = [];
  let end = 0;
  return {
    lengths,
    add(content) {
      const next = end + content.length + SEPARATOR.length;
      if (lengths.length === TOGETHER_COUNT || next > memory.length) return false;
      memory.set(content, end);
      memory.set(SEPARATOR, end + content.length);
      lengths.push(content.length);
      end = next;
      return true;
    },
    clear() {
      lengths.length = 0;
      end = 0;
    },
  };
}

/** All of them as one, with what stands between them. */
export function asOne(memory: Uint8Array, lengths: readonly number[]): Uint8Array {
  return memory.subarray(
    0,
    lengths.reduce((sum, length) => sum + length + SEPARATOR.length, 0),
  );
}

export function oneByOne(memory: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  let at = 0;
  return lengths.map((length) => {
    const content = memory.subarray(at, at + length);
    at += length + SEPARATOR.length;
    return content;
  });
}
