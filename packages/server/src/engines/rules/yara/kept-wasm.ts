/**
 * For every scan YARA-X compiles the conditions of the rules to WebAssembly again, allocates a memory for them, and
 * registers some 170 functions for finalization: a quarter of what a scan of 4 KB takes, and garbage that a thread
 * collects late. The conditions are always the same and the memory is written whole before it is used, so both are kept;
 * what is registered is freed by the scan itself.
 *
 * To be called once in a thread, before YARA-X is loaded there, and `nextScan` before each scan.
 */
export function keepWasmBetweenScans(): { nextScan(): void } {
  const { WebAssembly } = globalThis as unknown as { WebAssembly: Constructors };
  const compile = keepModules(WebAssembly.Module);
  const memories = keepMemories(WebAssembly.Memory);
  WebAssembly.Module = constructorFrom(WebAssembly.Module, compile);
  WebAssembly.Memory = constructorFrom(WebAssembly.Memory, memories.next);
  // YARA-X does without it where there is none.
  Reflect.deleteProperty(globalThis, "FinalizationRegistry");
  return { nextScan: memories.startOver };
}

interface Constructors {
  Module: new (bytes: Uint8Array) => object;
  Memory: new (shape: MemoryShape) => object;
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

/** Stands in for a constructor; `instanceof` and the prototype stay as they are. */
function constructorFrom<Argument>(
  original: new (argument: Argument) => object,
  make: (argument: Argument) => object,
): new (
  argument: Argument,
) => object {
  return new Proxy(original, { construct: (_, [argument]: [Argument]) => make(argument) });
}
