import { type Blob, memoryBlob } from "./blob.ts";
import { TOGETHER_BYTES, TOGETHER_COUNT, TOGETHER_EACH_BYTES } from "./scan-limits.ts";
import type { CompiledRules } from "./yara.ts";

/** Matches many contents in few scans, where the rules allow for it. */
export interface Together {
  /** Copies what is small; what is not is matched at once. */
  add(content: Blob): void;
  /** Matches what has been added and not been matched yet. */
  finish(): void;
}

/** `match` looks at one content, and throws if a rule matches it. */
export function matchTogether(rules: CompiledRules, match: (content: Blob) => void): Together {
  const gathered: Uint8Array[] = [];
  let bytes = 0;

  function finish(): void {
    const contents = gathered.splice(0);
    bytes = 0;
    if (contents.length > 1 && rules.mayMatch?.(contents) === false) return;
    for (const content of contents) match(memoryBlob(content));
  }

  return {
    add(content) {
      if (!rules.mayMatch || content.size > TOGETHER_EACH_BYTES) {
        match(content);
        return;
      }
      if (bytes + content.size > TOGETHER_BYTES) finish();
      gathered.push(Uint8Array.from(content.bytes(0, content.size)));
      bytes += content.size;
      if (gathered.length === TOGETHER_COUNT) finish();
    },
    finish,
  };
}
