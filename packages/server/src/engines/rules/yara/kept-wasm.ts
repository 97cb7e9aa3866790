import type { Compiler, Scanner } from "@virustotal/yara-x";
import type { WasmModule } from "../../../unpack/web-assembly.ts";

/** YARA-X, loaded in this thread. */
export interface Yara {
  Compiler: new () => Compiler;
  /** A scan that throws must be the last one in the thread: what is left of it is not cleared away. */
  scan(scanner: Scanner, bytes: Uint8Array): unknown;
  /** Its WebAssembly memory, which only ever grows. */
  readonly memoryBytes: number;
  /** How many JavaScript values it holds on to. */
  countReferences(): number;
}

/**
 * For every scan YARA-X compiles the conditions of the rules to WebAssembly again, allocates a memory for them, and
 * registers some 170 functions for finalization: a quarter of what a scan of 4 KB takes, and garbage that a thread
 * collects late. The conditions are always the same and the memory is written whole before it is used, so both are kept;
 * what is registered is freed by the scan itself.
 *
 * The instance of the conditions, on the other hand, YARA-X keeps although it never uses it again: its scan context holds
 * the reference in a `MaybeUninit`, which Rust never drops. It is let go here when the scan is over, or every scan would
 * cost 5 KB of heap for good.
 *
 * To be called once in a thread, which belongs to YARA-X from then on.
 */
export async function loadYara(program: WasmModule): Promise<Yara> {
  const { WebAssembly } = globalThis as unknown as { WebAssembly: Constructors };
  const memories = keepMemories(WebAssembly.Memory);
  const instances = noteInstances(WebAssembly.Instance);
  WebAssembly.Module = constructorFrom(WebAssembly.Module, keepModules(WebAssembly.Module));
  WebAssembly.Memory = constructorFrom(WebAssembly.Memory, memories.next);
  WebAssembly.Instance = constructorFrom(WebAssembly.Instance, instances.make);
  // YARA-X does without it where there is none.
  Reflect.deleteProperty(globalThis, "FinalizationRegistry");

  const yara = await import("@virustotal/yara-x");
  const exported = yara.initSync({ module: program });
  const slots: Slots = exported.__wbindgen_externrefs;
  return {
    Compiler: yara.Compiler,
    scan(scanner, bytes) {
      memories.startOver();
      instances.startOver();
      const result: unknown = scanner.scan(bytes);
      instances.letGo(slots, exported.__externref_table_dealloc_command_export);
      return result;
    },
    get memoryBytes() {
      return exported.memory.buffer.byteLength;
    },
    countReferences() {
      return Array.from({ length: slots.length }, (_, index) => slots.get(index)).filter((value) => value != null)
        .length;
    },
  };
}

/** The table in which YARA-X has the JavaScript values that it holds. */
interface Slots {
  readonly length: number;
  get(index: number): unknown;
}

interface Constructors {
  Module: new (bytes: Uint8Array) => object;
  Memory: new (shape: MemoryShape) => object;
  Instance: new (module: object, imports: object) => object;
}

interface MemoryShape {
  initial: number;
  maximum?: number;
}

/** A thread has two sets of rules. */
const MODULES_KEPT = 2;

function keepModules(Module: Constructors["Module"]): (bytes: Uint8Array) => object {
  const kept: { bytes: Buffer; module: object }[] = [];
  return (bytes) => {
    const known = kept.find((one) => one.bytes.equals(bytes));
    if (known) return known.module;
    const module = new Module(bytes);
    kept.unshift({ bytes: Buffer.from(bytes), module });
    kept.splice(MODULES_KEPT);
    return module;
  };
}

/** The first memory of a certain shape that a scan asks for is the first that the scan before it got, and so on. */
function keepMemories(Memory: Constructors["Memory"]): { next(shape: MemoryShape): object; startOver(): void } {
  const kept = new Map<string, object[]>();
  const used = new Map<string, number>();
  return {
    next(shape) {
      const key = `${shape.initial} ${shape.maximum}`;
      const index = used.get(key) ?? 0;
      used.set(key, index + 1);
      const memories = kept.get(key) ?? [];
      kept.set(key, memories);
      memories[index] ??= new Memory(shape);
      return memories[index];
    },
    startOver: () => used.clear(),
  };
}

/** The instances that a scan makes; the next one's are nearly always found in the slots where these were. */
function noteInstances(Instance: Constructors["Instance"]): {
  make(module: object, imports: object): object;
  startOver(): void;
  letGo(slots: Slots, free: (slot: number) => void): void;
} {
  let made: object[] | undefined;
  let lastSlot = 0;
  return {
    make(module, imports) {
      const instance = new Instance(module, imports);
      made?.push(instance);
      return instance;
    },
    startOver() {
      made = [];
    },
    letGo(slots, free) {
      for (const instance of made ?? []) {
        let [slot, left] = [lastSlot, slots.length];
        while (left > 0 && slots.get(slot) !== instance) [slot, left] = [(slot + 1) % slots.length, left - 1];
        if (left === 0) continue;
        free(slot);
        lastSlot = slot;
      }
      made = undefined;
    },
  };
}

/** Stands in for a constructor; `instanceof` and the prototype stay as they are. */
function constructorFrom<Arguments extends unknown[]>(
  original: new (...given: Arguments) => object,
  make: (...given: Arguments) => object,
): new (
  ...given: Arguments
) => object {
  return new Proxy(original, { construct: (_, given: Arguments) => make(...given) });
}
