import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Compiler, Rules, Scanner } from "@virustotal/yara-x";
import type { Blob } from "../../unpack/blob.ts";
import { compileWasm, type WasmModule } from "../../unpack/web-assembly.ts";
import { WINDOW_BYTES, WINDOW_OVERLAP_BYTES } from "../threads/scan-limits.ts";
import { loadYara } from "./kept-wasm.ts";
import { withoutRepeatedConstructors } from "./lean-yara.ts";
import { relaxedRules } from "./relaxed-rules.ts";

/** One file of rules. Its name is the namespace of its rules, so that two files may use the same rule names. */
export interface RuleSource {
  name: string;
  text: string;
}

/** The rules, compiled, in this thread. */
export interface CompiledRules {
  /** The name of the first rule that matches, in the order of the sources. */
  match(content: Blob): string | undefined;
  /**
   * False if no rule matches any of several small contents, given as one, in the time that one of them takes; true if one
   * may. Missing if there are rules that do not allow for it: see `relaxedRules`.
   */
  mayMatch?: (contents: Uint8Array) => boolean;
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
  const strict = scannerOf(new yara.Compiler(), sources);
  const relaxedSources = relaxedRules(sources);
  const relaxed = relaxedSources && scannerOf(new yara.Compiler(), relaxedSources);
  const window = windowBuffer();

  function firstMatch({ scanner }: RuleScanner, bytes: Uint8Array): string | undefined {
    const result = yara.scan(scanner, bytes);
    if (!isScanResult(result) || !result.valid) throw new Error("the rules gave no answer");
    return result.matches.find((match) => !match.isPrivate)?.identifier;
  }

  return {
    match(content) {
      for (let start = 0; ; start += WINDOW_BYTES - WINDOW_OVERLAP_BYTES) {
        const finding = firstMatch(strict, window.fill(content, start));
        if (finding !== undefined || start + WINDOW_BYTES >= content.size) return finding;
      }
    },
    ...(relaxed && { mayMatch: (contents: Uint8Array) => firstMatch(relaxed, contents) !== undefined }),
    warnings: strict.rules.warnings,
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
