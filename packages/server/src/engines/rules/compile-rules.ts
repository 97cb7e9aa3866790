import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Compiler, Rules, Scanner } from "@virustotal/yara-x";
import type { Blob } from "../../unpack/blob.ts";
import { compileWasm, type WasmModule } from "../../unpack/web-assembly.ts";
import { WINDOW_BYTES, WINDOW_OVERLAP_BYTES } from "../threads/scan-limits.ts";
import { loadYara } from "./kept-wasm.ts";
import { withoutRepeatedConstructors } from "./lean-yara.ts";
import { literalFilter } from "./literal-filter.ts";
import { type Requirements, requiredLiterals } from "./required-literals.ts";
import type { RuleSource } from "./rule-files.ts";

/** The rules, compiled, in this thread. */
export interface CompiledRules {
  /** The name of the first rule that matches, in the order of the sources. */
  match(content: Blob): string | undefined;
  /** What they need, so that another thread knows what they do not match. */
  readonly requirements: Requirements;
  /** What the compiler thinks of the rules: slow patterns, conditions that are always false. */
  readonly warnings: readonly string[];
  /** Size of the WebAssembly memory. It only ever grows. */
  readonly memoryBytes: number;
}

/** Compiled once in the main thread; all threads share the machine code. */
export function yaraProgram(): WasmModule {
  const script = createRequire(import.meta.url).resolve("@virustotal/yara-x");
  const { program } = withoutRepeatedConstructors(readFileSync(script.replace(/\.js$/, "_bg.wasm")));
  return compileWasm(program);
}

/**
 * Once in a thread, which belongs to the rules from then on: see `loadYara`. Throws with the compiler's words,
 * which name the file and the line, when a rule is wrong.
 */
export async function compileRules(program: WasmModule, sources: readonly RuleSource[]): Promise<CompiledRules> {
  const yara = await loadYara(program);
  const { rules, scanner } = scannerOf(new yara.Compiler(), sources);
  const requirements = requiredLiterals(sources);
  const filter = literalFilter(requirements);
  const window = windowBuffer();

  function firstMatch(bytes: Uint8Array): string | undefined {
    if (!filter.mayMatch(bytes)) return undefined;
    const result = yara.scan(scanner, bytes);
    if (!isScanResult(result) || !result.valid) throw new Error("the rules gave no answer");
    return result.matches.find((match) => !match.isPrivate)?.identifier;
  }

  return {
    match(content) {
      for (let start = 0; ; start += WINDOW_BYTES - WINDOW_OVERLAP_BYTES) {
        const finding = firstMatch(window.fill(content, start));
        if (finding !== undefined || start + WINDOW_BYTES >= content.size) return finding;
      }
    },
    requirements,
    warnings: rules.warnings,
    get memoryBytes() {
      return yara.memoryBytes;
    },
  };
}

/** Counting further makes no difference to the rules people write, but each match of a rule is an object to us. */
const MATCHES_PER_PATTERN = 10_000;

/** The rules must be kept as long as their scanner. */
interface RuleScanner {
  rules: Rules;
  scanner: Scanner;
}

function scannerOf(compiler: Compiler, sources: readonly RuleSource[]): RuleScanner {
  for (const { name, text } of sources) {
    compiler.newNamespace(name);
    try {
      compiler.addSource(text);
    } catch (cause) {
      throw new Error(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  }
  const rules = compiler.build();
  compiler.free();
  const scanner = rules.scanner();
  scanner.setMaxMatchesPerPattern(MATCHES_PER_PATTERN);
  return { rules, scanner };
}

interface ScanResult {
  valid: boolean;
  matches: { identifier: string; isPrivate: boolean }[];
}

function isScanResult(value: unknown): value is ScanResult {
  return (
    typeof value === "object" &&
    value !== null &&
    "valid" in value &&
    "matches" in value &&
    Array.isArray(value.matches)
  );
}

/** Grows to one window and is used again, so that large files do not leave garbage of their size behind. */
function windowBuffer() {
  let buffer = new Uint8Array(0);
  return {
    fill(content: Blob, start: number): Uint8Array {
      const length = Math.min(WINDOW_BYTES, content.size - start);
      if (content.inMemory) return content.bytes(start, length);
      if (buffer.length < length) buffer = new Uint8Array(Math.min(WINDOW_BYTES, length * 2));
      const part = buffer.subarray(0, length);
      content.read(part, start);
      return part;
    },
  };
}
