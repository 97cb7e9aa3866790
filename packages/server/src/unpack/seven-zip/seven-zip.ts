import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import sevenZipPackage from "7z-wasm";
import { EngineUnavailable } from "../../model/faults.ts";
import type { Blob } from "../blob.ts";
import type { MemberSink } from "../opener.ts";
import { compileWasm, instantiateWasm, type WasmInstance, type WasmModule } from "../web-assembly.ts";
import { ARCHIVE_PATH, mountFiles, OUTPUT_FOLDER } from "./emscripten-files.ts";
import { LINES_AT_MOST, type UnpackOutcome, unpackOutcome } from "./unpack-outcome.ts";

/** Compiled once in the main thread; all threads share the machine code. */
export function sevenZipProgram(): WasmModule {
  const script = createRequire(import.meta.url).resolve("7z-wasm");
  return compileWasm(readFileSync(script.replace(/\.umd\.js$/, ".wasm")));
}

export interface UnpackOptions {
  program: WasmModule;
  /** 7-Zip's name of the format to open the file as. */
  type: string;
  /** Memory the unpacker may have. */
  memoryBytes: number;
}

/**
 * Unpacks one archive, one layer of it, into `sink`. A new 7-Zip for every archive: it is compiled without exceptions,
 * so a malformed archive leaves it in mid-work, and the next file must not meet what is left of it.
 */
export async function unpack(archive: Blob, sink: MemberSink, options: UnpackOptions): Promise<UnpackOutcome> {
  const output = lineCollector();
  const errors = lineCollector();
  let memoryRefused = false;
  const stop = guard(archive, sink);
  const sevenZip = await sevenZipPackage.default({
    stdin: () => END_OF_INPUT,
    stdout: output.add,
    stderr: errors.add,
    print: output.line,
    printErr: errors.line,
    ...instantiate(options.program, (imports) => {
      const grow = imports.emscripten_resize_heap;
      // Attributes of files that exist for a moment only.
      for (const name of ["__syscall_chmod", "__syscall_fchownat", "__syscall_utimensat"]) imports[name] = () => 0;
      imports.emscripten_resize_heap = (bytes: number): unknown => {
        memoryRefused ||= bytes >>> 0 > options.memoryBytes;
        const grown = memoryRefused ? 0 : grow?.(bytes);
        // Not the archive's fault, and no word about it.
        if (!grown && !memoryRefused) stop.thrown ??= { error: new EngineUnavailable("no memory for 7-Zip") };
        return grown;
      };
    }),
  });

  mountFiles(sevenZip, stop.archive, stop.sink);
  const exitCode = process.exitCode;
  let result: number | undefined;
  try {
    result = sevenZip.callMain([...ARGUMENTS, `-t${options.type}`, ARCHIVE_PATH]) as unknown as number;
  } catch (error) {
    // It stops dead on malformed archives. One that takes more than JavaScript has to give is another matter.
    if (error instanceof RangeError && /call stack|allocat|memory/i.test(error.message)) memoryRefused = true;
    result = undefined;
  }
  // The unpacker believes to be a program of its own.
  process.exitCode = exitCode;
  if (stop.thrown) throw stop.thrown.error;
  return unpackOutcome({
    result,
    memoryRefused,
    output: output.lines,
    errors: errors.lines,
    archive,
    type: options.type,
  });
}

/**
 * Without paths, so that names cannot collide with folders; no questions; and a password, without which 7-Zip would ask for
 * one. Whoever encrypts with this password has nothing hidden from us.
 */
const ARGUMENTS = ["e", "-y", "-aoa", "-bd", "-bb0", "-sccUTF-8", "-plazaret", `-o${OUTPUT_FOLDER}`];
/** What Emscripten takes for the end of a file; its types know numbers only. */
const END_OF_INPUT = null as unknown as number;

type Imports = Record<string, ((...args: number[]) => unknown) | undefined>;

/** Takes part in making the instance: from the shared program, and with some of its imports replaced. */
function instantiate(program: WasmModule, replace: (imports: Imports) => void): object {
  return {
    instantiateWasm(imports: { env: Imports }, use: (instance: WasmInstance) => void): object {
      replace(imports.env);
      const instance = instantiateWasm(program, imports);
      use(instance);
      return instance.exports;
    },
  };
}

interface Guard {
  archive: Blob;
  sink: MemberSink;
  thrown: { error: unknown } | undefined;
}

/** What the sink or the reading of a file throws passes through the unpacker, which may change or hold it: so it is kept. */
function guard(archive: Blob, sink: MemberSink): Guard {
  function guarded<Args extends unknown[], Result>(action: (...args: Args) => Result): (...args: Args) => Result {
    return (...args) => {
      try {
        return action(...args);
      } catch (error) {
        kept.thrown ??= { error };
        throw error;
      }
    };
  }
  const kept: Guard = {
    archive: { ...archive, read: guarded(archive.read) },
    sink: {
      folder: guarded(() => sink.folder()),
      begin: guarded((name: string) => sink.begin(name)),
      write: guarded((bytes: Uint8Array) => sink.write(bytes)),
      end: guarded(() => sink.end()),
    },
    thrown: undefined,
  };
  return kept;
}

function lineCollector() {
  const lines: string[] = [];
  const bytes: number[] = [];
  const line = (text: string): void => {
    if (lines.length < LINES_AT_MOST) lines.push(text);
  };
  return {
    lines,
    line,
    add(byte: number): void {
      if (byte === NEWLINE) line(Buffer.from(bytes.splice(0)).toString("utf8"));
      else if (bytes.length < LINE_BYTES_AT_MOST) bytes.push(byte);
    },
  };
}

const NEWLINE = 10;
const LINE_BYTES_AT_MOST = 4096;
