import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, unlinkSync, write } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { EngineUnavailable } from "../../../scan/engine.ts";

const writeAt = promisify(write);

/** All bytes of one file, at rest. The file on disk has no name any more, so nothing stays when we are killed. */
export type Spooled = { kind: "memory"; bytes: Uint8Array } | { kind: "file"; descriptor: number; size: number };

/** A folder that only we can look into, for files that have a name for a moment only. */
export function privateFolder(parent: string): { path: string } & Disposable {
  const path = mkdtempSync(join(parent, "lazaret-rules-"));
  chmodSync(path, 0o700);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

let opened = 0;

/** A new empty file in `folder`, open for reading and writing, without a name. */
export function namelessFile(folder: string): number {
  opened += 1;
  const path = join(folder, `${process.pid}-${process.hrtime.bigint()}-${opened}`);
  const descriptor = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return descriptor;
}

/** Reads a stream to its end: small ones into memory, larger ones to disk. What the stream throws comes through. */
export async function spool(
  bytes: AsyncIterable<Uint8Array>,
  options: { folder: string; memoryBytes: number },
  signal: AbortSignal,
): Promise<Spooled> {
  const head: Uint8Array[] = [];
  let size = 0;
  let flushed = 0;
  let descriptor: number | undefined;
  try {
    for await (const chunk of bytes) {
      signal.throwIfAborted();
      if (descriptor === undefined && size + chunk.length <= options.memoryBytes) {
        // A source may use its buffer again.
        head.push(Uint8Array.from(chunk));
      } else {
        descriptor ??= temporaryFile(options.folder);
        await writeAll(descriptor, Buffer.concat([...head.splice(0), chunk]), flushed);
        flushed = size + chunk.length;
      }
      size += chunk.length;
    }
    signal.throwIfAborted();
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    throw error;
  }
  if (descriptor !== undefined) return { kind: "file", descriptor, size };
  return { kind: "memory", bytes: head.length === 1 && head[0] ? head[0] : new Uint8Array(Buffer.concat(head)) };
}

export function release(spooled: Spooled): void {
  if (spooled.kind === "file") closeSync(spooled.descriptor);
}

function temporaryFile(folder: string): number {
  try {
    return namelessFile(folder);
  } catch (cause) {
    throw new EngineUnavailable(`cannot make a temporary file in ${folder}`, { cause });
  }
}

async function writeAll(descriptor: number, chunk: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < chunk.length) {
    try {
      done += (await writeAt(descriptor, chunk, done, chunk.length - done, position + done)).bytesWritten;
    } catch (cause) {
      throw new EngineUnavailable("cannot write to the temporary folder", { cause });
    }
  }
}
