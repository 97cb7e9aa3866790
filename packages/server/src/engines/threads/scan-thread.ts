import { getHeapStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { EngineUnavailable } from "../../model/faults.ts";
import { type Blob, fileBlob, memoryBlob, readInto } from "../../unpack/blob.ts";
import { type Budget, Cancelled, unpackBudget } from "../../unpack/budget.ts";
import { Crowded, type Visitor, walk } from "../../unpack/walk.ts";
import type { ShownElsewhere } from "../clamd/show-members.ts";
import { type CompiledRules, compileRules } from "../rules/compile-rules.ts";
import {
  MEMBERS_TOGETHER,
  MEMBERS_TOGETHER_BYTES,
  MEMBERS_UNDER_WAY_BYTES,
  READ_ONCE_BYTES,
  SMALL_MEMBER_BYTES,
  type ThreadMemory,
} from "./scan-limits.ts";
import {
  CONTROL,
  type Outcome,
  type ShownMembers,
  type ThreadMessage,
  type ThreadRequest,
  type ThreadSetup,
} from "./scan-protocol.ts";
import type { Spooled } from "./spool.ts";

/** One thread of the pool: compiles the rules once, if it has any, then looks at one file after the other. */
const setup = workerData as ThreadSetup;
const control = new Int32Array(setup.control);
const ignored: ReadonlySet<string> = new Set(setup.ignored);

const rules = await compile();
if (rules !== "refused") {
  parentPort?.on("message", (request: ThreadRequest) => void scan(request));
  const loaded = rules && { warnings: rules.warnings, requirements: rules.requirements };
  send({ kind: "ready", rules: loaded, memory: memoryNow() });
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

async function scan({ file, number, other }: ThreadRequest): Promise<void> {
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
  { compiled, other }: { compiled: CompiledRules | undefined; other: ThreadRequest["other"] },
): Promise<Outcome> {
  const calledOff = (): boolean => Atomics.load(control, CONTROL.calledOff) === number;
  const budget = unpackBudget(setup.limits, file.size, calledOff);
  const sender = memberSender({
    control,
    budget,
    send: (members, transfer) => send({ kind: "members", members }, transfer),
  });

  const visitor: Visitor = {
    see(content, path) {
      budget.check();
      const finding = compiled?.match(content);
      if (finding !== undefined) throw new Found(finding, path.join("/"));
    },
    ...(other && {
      other: {
        gets: other.gets,
        opens: new Set(other.opens),
        show: (content, path, shownElsewhere) => sender.add(content, path.join("/"), shownElsewhere),
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

/** Good until the next file. */
function blobOf(file: Spooled): Blob {
  if (file.kind === "memory") return memoryBlob(file.bytes);
  const { descriptor, size } = file;
  const onDisk = fileBlob(descriptor, 0, size);
  if (size > READ_ONCE_BYTES) return onDisk;
  return memoryBlob(readInto(onDisk, Buffer.allocUnsafeSlow(size), 0));
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

/** Sends members to the main thread, which shows them to clamd, no faster than clamd takes them. */
interface MemberSender {
  /** Copies what is in memory; waits until it has been dealt with where it is in a file, whose room is used again. */
  add(content: Blob, path: string, shownElsewhere?: ShownElsewhere): void;
  /** Sends what has been added and not been sent yet. */
  finish(): void;
}

interface SenderOptions {
  control: Int32Array;
  budget: Budget;
  send(members: ShownMembers, transfer: readonly ArrayBuffer[]): void;
}

/** How often a thread that waits looks whether anybody still wants its answer. */
const WAKE_EVERY_MS = 50;

function memberSender({ control, budget, send }: SenderOptions): MemberSender {
  let waiting: { bytes: Buffer; path: string }[] = [];
  let waitingBytes = 0;

  /** The thread sleeps: nothing else is to be done meanwhile, and the unpacker cannot wait in any other way. */
  function waitUntil(atMost: number): void {
    for (;;) {
      const underWay = Atomics.load(control, CONTROL.bytesUnderWay);
      if (underWay <= atMost) return;
      Atomics.wait(control, CONTROL.bytesUnderWay, underWay, WAKE_EVERY_MS);
      budget.check();
    }
  }

  function post(members: ShownMembers, size: number, transfer: readonly ArrayBuffer[]): void {
    // Never nothing: who waits for all of it must see that this is under way.
    Atomics.add(control, CONTROL.bytesUnderWay, Math.max(1, size));
    send(members, transfer);
  }

  function sendWaiting(): void {
    if (waiting.length === 0) return;
    const bytes = new Uint8Array(Buffer.concat(waiting.map((one) => one.bytes)));
    const [lengths, paths] = [waiting.map((one) => one.bytes.length), waiting.map(({ path }) => path)];
    waiting = [];
    waitingBytes = 0;
    post({ kind: "memory", bytes, lengths, paths }, bytes.length, [bytes.buffer]);
    waitUntil(MEMBERS_UNDER_WAY_BYTES);
  }

  return {
    add(content, path, shownElsewhere) {
      const { size, file } = content;
      const elsewhere = shownElsewhere && { shownElsewhere };
      if (file) {
        post({ kind: "file", descriptor: file.descriptor, start: file.start, size, path, ...elsewhere }, size, []);
        waitUntil(0);
        return;
      }
      if (size > SMALL_MEMBER_BYTES || shownElsewhere) {
        const bytes = Uint8Array.from(content.bytes(0, size));
        post({ kind: "memory", bytes, lengths: [size], paths: [path], ...elsewhere }, size, [bytes.buffer]);
        waitUntil(MEMBERS_UNDER_WAY_BYTES);
        return;
      }
      waiting.push({ bytes: Buffer.from(content.bytes(0, size)), path });
      waitingBytes += size;
      if (waiting.length >= MEMBERS_TOGETHER || waitingBytes >= MEMBERS_TOGETHER_BYTES) sendWaiting();
    },
    finish: sendWaiting,
  };
}
