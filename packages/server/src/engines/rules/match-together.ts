import { type Blob, memoryBlob } from "../../unpack/blob.ts";
import { TOGETHER_EACH_BYTES } from "../threads/scan-limits.ts";
import { asOne, joinedContents, oneByOne } from "./joined-contents.ts";
import type { CompiledRules } from "./yara/compile-rules.ts";

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
