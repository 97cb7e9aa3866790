import type { UnpackLimits } from "../../unpack/budget.ts";
import type { WasmModule } from "../../unpack/web-assembly.ts";
import type { ShownElsewhere } from "../clamd/show-members.ts";
import type { Requirements } from "../rules/required-literals.ts";
import type { RuleSource } from "../rules/rule-files.ts";
import type { ThreadMemory } from "./scan-limits.ts";
import type { Spooled } from "./spool.ts";

/** What a scan thread is started with. It has the shared memory for itself. */
export interface ThreadSetup {
  sevenZip: WasmModule;
  /** Missing where files are unpacked for another engine only. */
  rules?: { yara: WasmModule; sources: readonly RuleSource[] };
  folder: string;
  limits: UnpackLimits;
  /** Kinds of container that may stay unopened. */
  ignored: readonly string[];
  /** Shared: two 32-bit numbers, see `CONTROL`. */
  control: SharedArrayBuffer;
}

/** The scan of that number is called off; bytes of members that are on their way and have not been dealt with. */
export const CONTROL = { calledOff: 0, bytesUnderWay: 1, count: 2 } as const;

/** What a thread found out about a file and all that is in it. */
export type Outcome =
  /** `decrypted`: something encrypted was in it, and has been opened. */
  | { kind: "clean"; decrypted?: true }
  | { kind: "infected"; finding: string; member: string }
  | { kind: "unscannable"; finding: string; detail: string }
  /** More than may be left to clamd's own unpacker: the file has to be looked at again, with every member being shown. */
  | { kind: "crowded" };

/** A clamd to show members to: what it gets (see `OtherUnpacker`), and the ways of packing that it opens by itself. */
export interface OtherEngine {
  gets: "file" | "contents" | "members";
  opens: readonly string[];
}

/** Main thread → scan thread. The next is sent when this one is answered. */
export interface ThreadRequest {
  number: number;
  file: Spooled;
  other: OtherEngine | undefined;
}

/** Members to be shown to clamd: small ones together, a large one where it lies, and one that is shown elsewhere too by itself. */
export type ShownMembers =
  | {
      kind: "memory";
      bytes: Uint8Array;
      lengths: readonly number[];
      paths: readonly string[];
      shownElsewhere?: ShownElsewhere;
    }
  | { kind: "file"; descriptor: number; start: number; size: number; path: string; shownElsewhere?: ShownElsewhere };

/** What a thread has to say about the rules that it has. */
export interface LoadedRules {
  warnings: readonly string[];
  requirements: Requirements;
}

/** Scan thread → main thread. */
export type ThreadMessage =
  | { kind: "ready"; rules: LoadedRules | undefined; memory: ThreadMemory }
  /** A rule is wrong; the thread ends. */
  | { kind: "refused"; message: string }
  /** Comes any number of times before the answer. The bytes under way have been counted already. */
  | { kind: "members"; members: ShownMembers }
  | { kind: "answer"; outcome: Outcome; memory: ThreadMemory }
  /** Called off, or this thread cannot go on, which says nothing about the file. */
  | { kind: "no-answer"; message: string; memory: ThreadMemory };
