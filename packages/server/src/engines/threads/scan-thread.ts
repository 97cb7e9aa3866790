import { getHeapStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { EngineUnavailable } from "../../model/faults.ts";
import { type Blob, fileBlob, memoryBlob } from "../../unpack/blob.ts";
import { Cancelled, unpackBudget } from "../../unpack/budget.ts";
import { containersIn } from "../../unpack/openers.ts";
import { Crowded, type Visitor, walk } from "../../unpack/walk.ts";
import { asOne, JOINED_BYTES, oneByOne } from "../rules/joined-contents.ts";
import { matchTogether } from "../rules/match-together.ts";
import { type CompiledRules, compileRules } from "../rules/yara/compile-rules.ts";
import { memberSender } from "./member-sender.ts";
import {
  CONTROL,
  type Outcome,
  type ThreadMemory,
  type ThreadMessage,
  type ThreadRequest,
  type ThreadSetup,
} from "./scan-protocol.ts";
import type { Spooled } from "./spool.ts";

/** One thread of the pool: compiles the rules once, if it has any, then looks at one file after the other. */
const setup = workerData as ThreadSetup;
const control = new Int32Array(setup.control);
const glanced = new Uint8Array(setup.joined);
const memory = new Uint8Array(setup.rules ? JOINED_BYTES : 0);
const ignored: ReadonlySet<string> = new Set(setup.ignored);

const rules = await compile();
if (rules !== "refused") {
  parentPort?.on("message", (request: ThreadRequest) => {
    if (request.kind === "look") void look(request);
    else glance(request.lengths);
  });
  const [warnings, glances] = [rules?.warnings ?? [], rules?.mayMatch !== undefined];
  send({ kind: "ready", warnings, glances, memory: memoryNow() });
}

async function compile(): Promise<CompiledRules | undefined | "refused"> {
  if (!setup.rules) return undefined;
  try {
    return await compileRules(setup.rules.yara, setup.rules.sources);
  } catch (error) {
    send({ kind: "refused", message: messageOf(error) });
    return "refused";
  }
}

/** Containers are left out only in the answer: what is matched with them is matched without them too. */
function glance(lengths: readonly number[]): void {
  const mayMatch = rules === "refused" ? undefined : rules?.mayMatch;
  const suspicious = mayMatch?.(asOne(glanced, lengths)) ?? true;
  const clean = oneByOne(glanced, lengths).map(
    (content) => !suspicious && containersIn(memoryBlob(content)).length === 0,
  );
  send({ kind: "glanced", clean, memory: memoryNow() });
}

async function look({ file, number, other }: LookRequest): Promise<void> {
  const compiled = rules === "refused" ? undefined : rules;
  try {
    const outcome = await outcomeOf(blobOf(file), number, { compiled, other });
    send({ kind: "answer", outcome, memory: memoryNow() });
  } catch (error) {
    // Anything else is the file's doing, or our mistake: the thread dies of it, so that no other file meets what is left.
    if (!(error instanceof Cancelled) && !isSystemError(error)) throw error;
    send({ kind: "no-answer", message: messageOf(error), memory: memoryNow() });
  }
}

async function outcomeOf(
  file: Blob,
  number: number,
  { compiled, other }: { compiled: CompiledRules | undefined; other: LookRequest["other"] },
): Promise<Outcome> {
  const calledOff = (): boolean => Atomics.load(control, CONTROL.calledOff) === number;
  const budget = unpackBudget(setup.limits, file.size, calledOff);
  const sender = memberSender({
    control,
    budget,
    send: (members, transfer) => send({ kind: "members", members }, transfer),
  });

  function match(content: Blob, path: string): void {
    budget.check();
    const finding = compiled?.match(content);
    if (finding !== undefined) throw new Found(finding, path);
  }
  const together = compiled && matchTogether(compiled, memory, match);
  const visitor: Visitor = {
    see: (content, path) => together?.add(content, path.join("/")),
    settle: () => together?.finish(),
    ...(other && {
      other: {
        gets: other.gets,
        opens: new Set(other.opens),
        show: (content, path, decrypted) => sender.add(content, path.join("/"), decrypted),
      },
    }),
  };
  try {
    const { doubt, decrypted } = await walk(file, visitor, {
      budget,
      sevenZip: setup.sevenZip,
      folder: setup.folder,
      ignored,
    });
    sender.finish();
    if (!doubt) return { kind: "clean", ...(decrypted && { decrypted }) };
    const where = doubt.path.length === 0 ? "" : ` in ${doubt.path.join("/")}`;
    return { kind: "unscannable", finding: doubt.finding, detail: `${doubt.why}${where}` };
  } catch (error) {
    if (error instanceof Found) return { kind: "infected", finding: error.finding, member: error.path };
    if (error instanceof Crowded) return { kind: "crowded" };
    throw error;
  }
}

/** A microsecond: cheap enough for every answer. */
function memoryNow(): ThreadMemory {
  const { used_heap_size: heapBytes, external_memory: externalBytes } = getHeapStatistics();
  return { heapBytes, externalBytes, rulesBytes: rules === "refused" ? 0 : (rules?.memoryBytes ?? 0) };
}

function blobOf(file: Spooled): Blob {
  return file.kind === "memory" ? memoryBlob(file.bytes) : fileBlob(file.descriptor, 0, file.size);
}

/** A full disk, no more file descriptors: no fault of the file. */
function isSystemError(error: unknown): boolean {
  return error instanceof EngineUnavailable || (error instanceof Error && "syscall" in error);
}

function send(message: ThreadMessage, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

type LookRequest = Extract<ThreadRequest, { kind: "look" }>;

/** Leaves the unpacker, however deep, as soon as a rule matches. */
class Found extends Error {
  readonly finding: string;
  readonly path: string;

  constructor(finding: string, path: string) {
    super(finding);
    this.name = "Found";
    this.finding = finding;
    this.path = path;
  }
}
