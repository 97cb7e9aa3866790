import type { Platform } from "../platform.ts";
import { eventFile } from "./event-bus.ts";
import { openJobStore } from "./job-store.ts";
import { keyFiles } from "./signing-keys.ts";

export interface EmbeddedOptions {
  dataDir: string;
  stackName: string;
  now: () => number;
}

/** Everything in one data folder: SQLite, key files, events as JSON lines. */
export async function embeddedPlatform({ dataDir, stackName, now }: EmbeddedOptions): Promise<Platform> {
  const store = await openJobStore(dataDir, { now });
  const eventBus = await eventFile(dataDir);
  return {
    ...store,
    signingKeys: keyFiles({ dataDir, stackName }),
    topic: { publish: async () => {} },
    eventBus,
    account: "000000000000",
    region: "local",
    async close() {
      await store.close();
      await eventBus.close();
    },
  };
}
