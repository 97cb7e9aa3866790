import type { Outcome } from "./look-inside.ts";
import type { ScanLimits } from "./scan-limits.ts";
import type { Spooled } from "./spool.ts";
import type { WasmModule } from "./web-assembly.ts";
import type { RuleSource } from "./yara.ts";

/** What a scan thread is started with. */
export interface ThreadSetup {
  yara: WasmModule;
  sevenZip: WasmModule;
  sources: readonly RuleSource[];
  folder: string;
  limits: ScanLimits;
  /** One 32-bit number, shared: the scan of that number is called off. */
  calledOff: SharedArrayBuffer;
}

/** Main thread → scan thread. The next is sent when this one is answered. */
export type ThreadRequest =
  | { kind: "look"; number: number; file: Spooled }
  /** Small files: which of them are no archives, and certainly match no rule? */
  | { kind: "glance"; number: number; contents: readonly Uint8Array[] };

/** Scan thread → main thread. */
export type ThreadMessage =
  | { kind: "ready"; warnings: readonly string[]; glances: boolean }
  /** A rule is wrong; the thread ends. */
  | { kind: "refused"; message: string }
  | { kind: "answer"; outcome: Outcome; memoryBytes: number }
  | { kind: "glanced"; clean: readonly boolean[] }
  /** Called off, or this thread cannot go on, which says nothing about the file. */
  | { kind: "no-answer"; message: string };
