import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { EventBus } from "../../deliver/event-bus.ts";

/** Events as JSON lines in the data folder, one after the other, each on disk before it counts as told. */
export async function eventFile(dataDir: string): Promise<EventBus> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const file = await open(join(dataDir, "events.jsonl"), "a", 0o600);
  let last: Promise<void> = Promise.resolve();
  return {
    publish(event) {
      // One after the other: two appends at once could mix their lines.
      const written = last.then(async () => {
        await file.appendFile(`${JSON.stringify(event)}\n`);
        await file.datasync();
      });
      last = written.catch(() => {});
      return written;
    },
    async close() {
      await last;
      await file.close();
    },
  };
}
