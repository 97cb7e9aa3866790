import { type Retention, USUAL_RETENTION } from "../../src/platforms/shared/retention.ts";
import { LEASE_SECONDS } from "../../src/queue/job-queue.ts";
import { accessStoreContract } from "./access-store.ts";
import { auditLogContract } from "./audit-log.ts";
import { bookmarksContract } from "./bookmarks.ts";
import { callbackFailuresContract } from "./callback-failures.ts";
import { deadLettersContract } from "./dead-letters.ts";
import { eventBusContract, seen } from "./event-bus.ts";
import { findingsContract } from "./findings.ts";
import { findingsTopicContract } from "./findings-topic.ts";
import { jobBrowserContract } from "./job-browser.ts";
import { jobHistoryContract } from "./job-history.ts";
import { jobQueueContract } from "./job-queue.ts";
import { jobQueueTimeContract } from "./job-queue-time.ts";
import { damage } from "./memory-kept.ts";
import { memoryPlatform, memoryStorage, refuseToWrite } from "./memory-platform.ts";
import type { Outputs, OutputsKind } from "./outputs.ts";
import { poisonContract } from "./poison.ts";
import { resultStoreContract } from "./result-store.ts";
import { sharedCountsContract } from "./shared-counts.ts";
import { signingKeysContract, stackName } from "./signing-keys.ts";
import type { Platform, Stores } from "./stores.ts";
import { usageContract } from "./usage.ts";

type Opened = Stores & Outputs;

/** The storage stays in this process, and several platforms may stand on it as several processes do on a disk. */
function open(
  retention: Retention,
  clock = { now: Date.UTC(2026, 0, 1) },
  storage = memoryStorage(clock),
  write = () => {},
): Opened {
  const now = (): number => clock.now;
  const platform = memoryPlatform({ storage, retention, now, write }, stackName);
  return {
    ...platform,
    platform,
    leaseSeconds: LEASE_SECONDS,
    now,
    async advance(seconds) {
      clock.now += seconds * 1000;
    },
    topicFindings: async () => storage.topicFindings,
    events: async () => storage.events.map(seen),
    parameter: async (name) => storage.parameters.get(name),
    putParameter: async (name, value) => void storage.parameters.set(name, value),
    privateKey: {
      get: async () => storage.privateKey,
      async put(text) {
        storage.privateKey = Promise.resolve(text);
      },
      async deny() {
        storage.privateKey = Promise.reject(new Error("access denied"));
        storage.privateKey.catch(() => {});
      },
    },
    sweep: async () => {},
    damageKept: async () => damage(storage.kept),
    another: async () => open(retention, clock, storage),
    unwritable: async () => open(retention, clock, storage, refuseToWrite),
    [Symbol.asyncDispose]: platform.close,
  };
}

// #region suites
const memory: Platform & OutputsKind = {
  name: "the memory platform",
  ordered: true,
  toldClock: true,
  make: async (kept?: Partial<Retention>) => open({ ...USUAL_RETENTION, ...kept }),
};

jobQueueContract(memory);
jobQueueTimeContract(memory);
poisonContract(memory);
deadLettersContract(memory);
jobBrowserContract(memory);
jobHistoryContract(memory);
resultStoreContract(memory);
findingsContract(memory);
usageContract(memory);
accessStoreContract(memory);
auditLogContract(memory);
sharedCountsContract(memory);
callbackFailuresContract(memory);
bookmarksContract(memory);
findingsTopicContract(memory);
eventBusContract(memory);
signingKeysContract(memory);
// #endregion
