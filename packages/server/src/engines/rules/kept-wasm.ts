import type { Compiler, Scanner } from "@virustotal/yara-x";
import type { WasmModule } from "../../unpack/web-assembly.ts";

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
  const references: References = {
    slots: exported.__wbindgen_externrefs,
    take: exported.__externref_table_alloc_command_export,
    free: exported.__externref_table_dealloc_command_export,
  };
  return {
    Compiler: yara.Compiler,
    scan(scanner, bytes) {
      memories.startOver();
      instances.startOver(references);
      const result: unknown = scanner.scan(bytes);
      instances.letGo();
      return result;
    },
    get memoryBytes() {
      return exported.memory.buffer.byteLength;
    },
    countReferences() {
      const { slots } = references;
      return Array.from({ length: slots.length }, (_, index) => slots.get(index)).filter((value) => value != null)
        .length;
    },
  };
}

/** Where YARA-X has the JavaScript values that it holds. */
interface References {
  slots: { readonly length: number; get(slot: number): unknown };
  /** The slot that was freed last, if there is one, is taken first. */
  take(): number;
  free(slot: number): void;
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

/** A thread has one set of rules. */
const MODULES_KEPT = 1;

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

/** The instances that a scan makes, each with the slot that it is about to get: the next one that is free. */
function noteInstances(Instance: Constructors["Instance"]): {
  make(module: object, imports: object): object;
  startOver(references: References): void;
  letGo(): void;
} {
  let scan: { references: References; made: { instance: object; slot: number }[] } | undefined;
  return {
    make(module, imports) {
      const instance = new Instance(module, imports);
      if (!scan) return instance;
      const slot = scan.references.take();
      scan.references.free(slot);
      scan.made.push({ instance, slot });
      return instance;
    },
    startOver(references) {
      scan = { references, made: [] };
    },
    letGo() {
      for (const { instance, slot } of scan?.made ?? []) {
        if (scan?.references.slots.get(slot) === instance) scan.references.free(slot);
      }
      scan = undefined;
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
