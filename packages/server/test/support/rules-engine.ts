import { type RulesOptions, ruleThreads, type ScanThreadsOptions } from "../../src/engines/threads/scan-threads.ts";
import { unpackingEngine } from "../../src/engines/unpacking-engine.ts";
import type { Verdict } from "../../src/model/verdict.ts";
import type { Engine } from "../../src/scan/engine.ts";

/** The rules alone, without clamd and without the file's type. */
export async function rulesEngine(options: ScanThreadsOptions & RulesOptions = {}): Promise<Engine> {
  return unpackingEngine({ threads: await ruleThreads(options) });
}

/** Pieces of the size that sockets give. */
export async function* chunks(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536);
}

/** What the engine says, in one word or with its finding: `clean`, `infected EICAR_Test_File`, `no scanner:encrypted`. */
export async function verdictOf(engine: Engine, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<string> {
  const bytes = content instanceof Uint8Array ? chunks(content) : content;
  return spoken(await engine.scan(bytes, new AbortController().signal));
}

function spoken(verdict: Verdict): string {
  if (verdict.kind === "clean") return "clean";
  return `${verdict.kind === "infected" ? "infected" : "no"} ${verdict.finding}`;
}
