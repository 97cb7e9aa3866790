/**
 * YARA-X for WebAssembly is built as a "command": every function that JavaScript may call first runs the constructors
 * of the whole program again. They do nothing the second time, but it takes 2 µs to find that out, and one scan makes
 * thousands of such calls, because it hands its host functions over one by one: 5 of the 7 ms that a scan of 4 KB took.
 *
 * So the call of the constructors is taken out where scans pass by; it stays in all other functions, above all in that
 * which makes a compiler, without which there is nothing to scan with. If the program does not look as expected, as
 * another version may not, it is left as it is: slower, not wrong.
 */
export function withoutRepeatedConstructors(program: Uint8Array): { program: Uint8Array; removed: number } {
  const reader = wasmReader(program);
  const { importedFunctions, exported, bodies } = reader.outline();
  const constructors = reader.firstCall(bodies[(exported.get(FIRST_CALLED) ?? -1) - importedFunctions]);
  if (!constructors) return { program, removed: 0 };

  const lean = Uint8Array.from(program);
  let removed = 0;
  for (const [name, index] of exported) {
    if (!name.endsWith(INTERNAL)) continue;
    const call = reader.firstCall(bodies[index - importedFunctions]);
    if (call?.target !== constructors.target) continue;
    lean.fill(NOP, call.start, call.end);
    removed += 1;
  }
  return { program: lean, removed };
}

/** The one function that everything starts with; it keeps running the constructors. */
const FIRST_CALLED = "compiler_new";
/** How wasm-bindgen names the functions that its own glue calls: memory, references, closures. */
const INTERNAL = "_command_export";

const NOP = 0x01;
const CALL = 0x10;
const SECTION = { import: 2, export: 7, code: 10 } as const;
const KIND = { function: 0, table: 1, memory: 2, global: 3 } as const;

interface Outline {
  importedFunctions: number;
  /** Exported functions: name → index. */
  exported: Map<string, number>;
  /** Where the body of each function of the program itself begins. */
  bodies: number[];
}

interface Call {
  target: number;
  start: number;
  end: number;
}

/** As much of the WebAssembly binary format as the above needs. */
function wasmReader(program: Uint8Array) {
  let at = 0;

  function byte(): number {
    const value = program[at];
    if (value === undefined) throw new Error("cannot read the WebAssembly program: it ends too early");
    at += 1;
    return value;
  }

  function unsigned(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const next = byte();
      value += (next & 0x7f) * 2 ** shift;
      if (next < 0x80) return value;
    }
  }

  function text(): string {
    const length = unsigned();
    at += length;
    return Buffer.from(program.subarray(at - length, at)).toString("utf8");
  }

  function limits(): void {
    if ((byte() & 1) === 1) unsigned();
    unsigned();
  }

  function skipImport(): number {
    text();
    text();
    const kind = byte();
    if (kind === KIND.function) unsigned();
    if (kind === KIND.table) byte();
    if (kind === KIND.table || kind === KIND.memory) limits();
    if (kind === KIND.global) at += 2;
    return kind;
  }

  return {
    outline(): Outline {
      const found: Outline = { importedFunctions: 0, exported: new Map(), bodies: [] };
      at = 8;
      while (at < program.length) {
        const section = byte();
        const size = unsigned();
        const next = at + size;
        const count =
          section === SECTION.import || section === SECTION.export || section === SECTION.code ? unsigned() : 0;
        for (let i = 0; i < count; i += 1) {
          if (section === SECTION.import && skipImport() === KIND.function) found.importedFunctions += 1;
          if (section === SECTION.export) {
            const name = text();
            const kind = byte();
            const index = unsigned();
            if (kind === KIND.function) found.exported.set(name, index);
          }
          if (section === SECTION.code) {
            const length = unsigned();
            found.bodies.push(at);
            at += length;
          }
        }
        at = next;
      }
      return found;
    },

    /** The call that a function begins with, if it begins with one. */
    firstCall(body: number | undefined): Call | undefined {
      if (body === undefined) return undefined;
      at = body;
      for (let groups = unsigned(); groups > 0; groups -= 1) {
        unsigned();
        byte();
      }
      const start = at;
      if (byte() !== CALL) return undefined;
      return { target: unsigned(), start, end: at };
    },
  };
}
