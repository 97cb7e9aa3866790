import { messageId } from "../../deliver/event-bus.ts";
import type { Log } from "../../log.ts";
import type { Platform } from "../platform.ts";
import { type FanOutOptions, startFanOut } from "../shared/messages/fan-out.ts";
import type { Retention } from "../shared/retention.ts";
import { sealer } from "../shared/sealed.ts";
import { embeddedBookmarks } from "./bookmarks.ts";
import { prepareDataFolder, roomFor } from "./data-folder.ts";
import { sqliteBus } from "./event-bus.ts";
import { sqliteTopic } from "./findings-topic.ts";
import { openJobStore } from "./job-store.ts";
import { keyFiles } from "./signing-keys.ts";
import { damagedLogNotice, damagedLogs } from "./sqlite/damaged-log.ts";

export interface EmbeddedOptions {
  dataDir: string;
  stackName: string;
  now: () => number;
  log: Log;
  /** How long finished jobs and findings are kept, and how many. */
  kept: Retention;
  /** Who receives what is published, and how. */
  fanOut: Pick<FanOutOptions, "subscriptions" | "targets" | "sending">;
}

/** Messages under way when everything stops; the rest is sent by the next process. */
const FAN_OUT_GRACE_MS = 2000;

/** More than the database takes for a job, whose JSON is 256 KiB at most. */
const LARGEST_JOB_BYTES = 512 * 1024;

/** Everything in one data folder: SQLite and key files. */
export async function embeddedPlatform(options: EmbeddedOptions): Promise<Platform> {
  const { dataDir, stackName, now, log, kept } = options;
  const store = await openJobStore(dataDir, { now, kept });
  const { databasePath, secretKey } = await prepareDataFolder(dataDir);
  for (const copy of damagedLogs(databasePath)) log.error("database", damagedLogNotice(copy));
  const { subscriptions, targets, sending } = options.fanOut;
  const fanOut = startFanOut({ outbox: store.outbox, stackName, subscriptions, targets, sending });
  return {
    ...store,
    bookmarks: embeddedBookmarks(dataDir),
    signingKeys: keyFiles({ dataDir, stackName }),
    topic: sqliteTopic(store, { stackName, subscriptions, now }),
    eventBus: sqliteBus(store, targets),
    receiverCounts: fanOut.counts,
    consoleSecret: async () => sealer(secretKey).consoleSecret,
    tenantId: messageId(Buffer.from(secretKey).toString("hex"), "tenant"),
    account: "000000000000",
    region: "local",
    async tryToWrite() {
      await roomFor(LARGEST_JOB_BYTES, dataDir);
      await store.tryToWrite();
    },
    async close() {
      await fanOut.stop(FAN_OUT_GRACE_MS);
      await store.close();
    },
  };
}
