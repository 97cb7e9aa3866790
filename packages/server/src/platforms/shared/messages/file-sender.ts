import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolder, syncFolder } from "../durable-file.ts";
import { failedWith, type Sender, type SendOutcome } from "./sender.ts";

interface Line {
  bytes: Buffer;
  written(outcome: SendOutcome): void;
}

const AT_ONCE = 8;
const LINE_END = 0x0a;

/**
 * Messages as JSON lines in a file, each on disk before it counts as sent. Several processes may append to it, and it
 * may be moved away at any time. One that dies or runs out of disk in mid-write leaves a line that is cut short; its
 * message comes again.
 */
export function fileSender(path: string): Sender {
  let waiting: Line[] = [];
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      const outcome = await append(lines).then((): SendOutcome => ({ kind: "sent" }), failedWith);
      for (const { written } of lines) written(outcome);
    }
    writing = undefined;
  }

  /** Opened anew each time, because it may have been moved away. One sync is for all of them. */
  async function append(lines: readonly Line[]): Promise<void> {
    makeFolder(dirname(path), 0o700);
    await using file = await open(path, "a+", 0o600);
    const isNew = (await file.stat()).size === 0;
    for (const { bytes } of lines) await appendLine(file, bytes);
    await file.datasync();
    if (isNew) await syncFolder(dirname(path));
  }

  return {
    atOnce: AT_ONCE,
    send({ message }) {
      return new Promise((written) => {
        waiting.push({ bytes: Buffer.from(`${message.body}\n`), written });
        writing ??= writeAll();
      });
    },
    async close() {
      await writing;
    },
  };
}

/** In a single write, which the system does not mix with those of other processes. */
async function appendLine(file: FileHandle, bytes: Buffer): Promise<void> {
  const whole = (await endsWithLine(file)) ? bytes : Buffer.concat([Buffer.of(LINE_END), bytes]);
  const { bytesWritten } = await file.write(whole);
  if (bytesWritten < whole.length) throw Object.assign(new Error("the disk took half a line"), { code: "ENOSPC" });
}

async function endsWithLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === LINE_END;
}
