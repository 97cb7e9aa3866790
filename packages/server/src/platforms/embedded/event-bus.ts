import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { EventBus } from "../../deliver/event-bus.ts";

/** Events as JSON lines in the data folder, one after the other, each on disk before it counts as told. */
export async function eventFile(dataDir: string): Promise<EventBus> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const file = await open(join(dataDir, "events.jsonl"), "a+", 0o600);
  // A line that a crash or a full disk cut short must not swallow the next one.
  let cut = !(await endsWithLine(file));
  let last: Promise<void> = Promise.resolve();

  async function append(line: string): Promise<void> {
    const text = cut ? `\n${line}` : line;
    cut = true;
    await file.appendFile(text);
    await file.datasync();
    cut = false;
  }

  return {
    publish(event) {
      // One after the other: two appends at once could mix their lines.
      const written = last.then(() => append(`${JSON.stringify(event)}\n`));
      last = written.catch(() => {});
      return written;
    },
    async close() {
      await last;
      await file.close();
    },
  };
}

async function endsWithLine(file: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === 0x0a;
}
