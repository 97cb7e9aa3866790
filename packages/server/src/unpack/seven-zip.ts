import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import sevenZipPackage from "7z-wasm";
import { EngineUnavailable } from "../model/faults.ts";
import type { Blob } from "./blob.ts";
import { ARCHIVE_PATH, mountFiles, OUTPUT_FOLDER } from "./emscripten-files.ts";
import type { MemberSink } from "./opener.ts";
import { compileWasm, instantiateWasm, type WasmInstance, type WasmModule } from "./web-assembly.ts";

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

/** What became of one archive. Only `unpacked` means that all its members have come out, whole. */
export type UnpackOutcome =
  /** `tailBytes` stand behind the archive and do not belong to it; or something does, but 7-Zip does not say how much. */
  | { kind: "unpacked"; tailBytes: number; dataAfterEnd: boolean }
  | { kind: "encrypted" }
  /** It wants more memory than we give. */
  | { kind: "too-large" }
  /** Not such an archive at all, or damaged, or packed by a method nobody knows. */
  | { kind: "unreadable" };

export interface UnpackerReport {
  /** 7-Zip's exit code; none when it stopped dead, as it does on malformed headers. */
  result: number | undefined;
  memoryRefused: boolean;
  output: readonly string[];
  errors: readonly string[];
  archive: Blob;
  type: string;
}

/**
 * An archive decides how much 7-Zip has to say about it. More lines than this are not read, and mean nothing good.
 * @internal a test has 7-Zip say as much
 */
export const LINES_AT_MOST = 30_000;

/**
 * Believes 7-Zip as far as it goes: names of members stand in its lines as they are, line breaks included, so a line may
 * be the archive's own. Such a line can make things look worse than they are, never better.
 * @internal tested by table
 */
export function unpackOutcome(report: UnpackerReport): UnpackOutcome {
  const { result, output, errors } = report;
  if (report.memoryRefused || result === EXIT.noMemory) return { kind: "too-large" };
  if (result === undefined) return hasEncryptedHeader(report) ? { kind: "encrypted" } : { kind: "unreadable" };
  if (output.length >= LINES_AT_MOST || errors.length >= LINES_AT_MOST) return { kind: "unreadable" };

  const serious = errors.filter((line) => line.trim() !== "" && !HARMLESS.test(line));
  if (serious.some((line) => /wrong password|encrypted (file|archive)/i.test(line))) return { kind: "encrypted" };
  if (serious.some((line) => /can't allocate|not enough memory/i.test(line))) return { kind: "too-large" };
  const fine = result === EXIT.fine || result === EXIT.warning || (result === EXIT.error && errors.some(isHarmless));
  if (!fine || serious.length > 0) return { kind: "unreadable" };
  // 7-Zip could not read what begins here. It has searched on, and found another one further back.
  if (propertyOf(report, "Offset") > 0) return { kind: "unreadable" };
  return {
    kind: "unpacked",
    tailBytes: Math.min(propertyOf(report, "Tail Size"), report.archive.size),
    dataAfterEnd: errors.some((line) => DATA_AFTER_END.test(line)),
  };
}

const EXIT = { fine: 0, warning: 1, error: 2, noMemory: 8 } as const;

/** Links, folders and attributes have no content; that they cannot be made where nothing is written is as it should be. */
const HARMLESS =
  /^ERROR: (Dangerous link path was ignored|Cannot create (hard link|symbolic link|folder)|Cannot set file attribute|There are some data after the end of the payload data) : /;
const DATA_AFTER_END = /^ERROR: There are some data after the end of the payload data : /;

function isHarmless(line: string): boolean {
  return HARMLESS.test(line);
}

/** Returns a number that 7-Zip says of the archive. Its properties come before the comment, so the first such line is 7-Zip's own. */
function propertyOf({ output }: UnpackerReport, name: "Offset" | "Tail Size"): number {
  const line = output.find((text) => text.startsWith(`${name} = `) || text.startsWith("Comment = "));
  return Number(line?.match(/^(?:Offset|Tail Size) = (\d+)$/)?.[1] ?? 0);
}

/** A 7z archive may have its list of files encrypted too; 7-Zip stops dead on a wrong password then. */
function hasEncryptedHeader({ archive, type }: UnpackerReport): boolean {
  if (type !== "7z" || archive.size < 32) return false;
  const start = archive.bytes(0, 32);
  const [offset, size] = [Number(start.readBigUInt64LE(12)), Number(start.readBigUInt64LE(20))];
  if (32 + offset > archive.size) return false;
  return archive.bytes(32 + offset, Math.min(size, HEADER_BYTES)).includes(AES);
}

const HEADER_BYTES = 64 * 1024;
/** The id of 7-Zip's cipher. */
const AES = Buffer.from([0x06, 0xf1, 0x07, 0x01]);
