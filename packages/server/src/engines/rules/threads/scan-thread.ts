import { parentPort, workerData } from "node:worker_threads";
import { type Blob, fileBlob, memoryBlob } from "../look/blob.ts";
import { asOne, JOINED_BYTES, oneByOne } from "../look/joined-contents.ts";
import { lookInside } from "../look/look-inside.ts";
import { Cancelled, scanBudget } from "../look/scan-budget.ts";
import { archiveKinds } from "../unpack/archive-kinds.ts";
import { type CompiledRules, compileRules } from "../yara/compile-rules.ts";
import type { ThreadMessage, ThreadRequest, ThreadSetup } from "./scan-protocol.ts";
import type { Spooled } from "./spool.ts";

/** One thread of the pool: compiles the rules once, then looks at one file after the other. */
const { yara, sevenZip, sources, folder, limits, joined, calledOff } = workerData as ThreadSetup;
const cancelled = new Int32Array(calledOff);
const glanced = new Uint8Array(joined);
const memory = new Uint8Array(JOINED_BYTES);

const rules = await compile();
if (rules) {
  parentPort?.on("message", (request: ThreadRequest) => {
    if (request.kind === "look") void look(rules, request.file, request.number);
    else glance(rules, request.lengths);
  });
  tell({ kind: "ready", warnings: rules.warnings, glances: rules.mayMatch !== undefined });
}

async function compile(): Promise<CompiledRules | undefined> {
  try {
    return await compileRules(yara, sources);
  } catch (error) {
    tell({ kind: "refused", message: messageOf(error) });
    return undefined;
  }
}

/** Archives are left out only in the answer: what is matched with them is matched without them too. */
function glance(compiled: CompiledRules, lengths: readonly number[]): void {
  const suspicious = compiled.mayMatch?.(asOne(glanced, lengths)) ?? true;
  const clean = oneByOne(glanced, lengths).map(
    (content) => !suspicious && archiveKinds(memoryBlob(content)).length === 0,
  );
  tell({ kind: "glanced", clean });
}

async function look(compiled: CompiledRules, file: Spooled, number: number): Promise<void> {
  const content = blobOf(file);
  const budget = scanBudget(limits, content.size, () => Atomics.load(cancelled, 0) === number);
  try {
    const outcome = await lookInside(content, { rules: compiled, sevenZip, budget, folder, memory });
    tell({ kind: "answer", outcome, memoryBytes: compiled.memoryBytes });
  } catch (error) {
    // Anything else is the file's doing, or our mistake: the thread dies of it, so that no other file meets what is left.
    if (!(error instanceof Cancelled) && !isSystemError(error)) throw error;
    tell({ kind: "no-answer", message: messageOf(error) });
  }
}

function blobOf(file: Spooled): Blob {
  return file.kind === "memory" ? memoryBlob(file.bytes) : fileBlob(file.descriptor, 0, file.size);
}

/** A full disk, no more file descriptors: no fault of the file. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

function tell(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
