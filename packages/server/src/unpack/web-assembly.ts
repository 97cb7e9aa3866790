/**
 * The part of the WebAssembly API that we use. It is everywhere, but TypeScript describes it only together with the
 * browser's, which has no place here.
 */
export interface WasmModule {
  readonly [Symbol.toStringTag]: "WebAssembly.Module";
}

export interface WasmInstance {
  readonly exports: object;
}

interface WebAssemblyApi {
  Module: new (bytes: Uint8Array) => WasmModule;
  Instance: new (module: WasmModule, imports: object) => WasmInstance;
}

const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssemblyApi };

export function compileWasm(bytes: Uint8Array): WasmModule {
  return new WebAssembly.Module(bytes);
}

export function instantiateWasm(module: WasmModule, imports: object): WasmInstance {
  return new WebAssembly.Instance(module, imports);
}
