import type { Outcome } from "../look/look-inside.ts";
import type { ScanLimits } from "../scan-limits.ts";
import type { RuleSource } from "../yara/compile-rules.ts";
import type { WasmModule } from "../yara/web-assembly.ts";
import type { Spooled } from "./spool.ts";

/** What a scan thread is started with. It has the shared memories for itself. */
export interface ThreadSetup {
  yara: WasmModule;
  sevenZip: WasmModule;
  sources: readonly RuleSource[];
  folder: string;
  limits: ScanLimits;
  /** Shared: the contents of a glance. */
  joined: SharedArrayBuffer;
  /** One 32-bit number, shared: the scan of that number is called off. */
  calledOff: SharedArrayBuffer;
}

/** Main thread → scan thread. The next is sent when this one is answered. */
export type ThreadRequest =
  | { kind: "look"; number: number; file: Spooled }
  /** Small files: which of them are no archives, and certainly match no rule? */
  | { kind: "glance"; number: number; lengths: readonly number[] };

/** Scan thread → main thread. */
export type ThreadMessage =
  | { kind: "ready"; warnings: readonly string[]; glances: boolean }
  /** A rule is wrong; the thread ends. */
  | { kind: "refused"; message: string }
  | { kind: "answer"; outcome: Outcome; memoryBytes: number }
  | { kind: "glanced"; clean: readonly boolean[] }
  /** Called off, or this thread cannot go on, which says nothing about the file. */
  | { kind: "no-answer"; message: string };
