import { TOGETHER_EACH_BYTES } from "../scan-limits.ts";
import type { CompiledRules } from "../yara/compile-rules.ts";
import { type Blob, memoryBlob } from "./blob.ts";
import { asOne, joinedContents, oneByOne } from "./joined-contents.ts";

/** Matches many contents in few scans, where the rules allow for it. */
export interface Together {
  /** Copies what is small; what is not is matched at once. */
  add(content: Blob): void;
  /** Matches what has been added and not been matched yet. */
  finish(): void;
}

/** `match` looks at one content, and throws if a rule matches it. `memory` is for the contents. */
export function matchTogether(rules: CompiledRules, memory: Uint8Array, match: (content: Blob) => void): Together {
  const joined = joinedContents(memory);

  function finish(): void {
    const lengths = [...joined.lengths];
    joined.clear();
    if (lengths.length > 1 && rules.mayMatch?.(asOne(memory, lengths)) === false) return;
    for (const content of oneByOne(memory, lengths)) match(memoryBlob(content));
  }

  return {
    add(content) {
      if (!rules.mayMatch || content.size > TOGETHER_EACH_BYTES) {
        match(content);
        return;
      }
      const bytes = content.bytes(0, content.size);
      if (joined.add(bytes)) return;
      finish();
      joined.add(bytes);
    },
    finish,
  };
}
