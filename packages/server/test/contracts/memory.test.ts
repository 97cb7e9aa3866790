import { LEASE_SECONDS } from "../../src/queue/job-queue.ts";
import { accessStoreContract } from "./access-store.ts";
import { auditLogContract } from "./audit-log.ts";
import { bookmarksContract } from "./bookmarks.ts";
import { callbackFailuresContract } from "./callback-failures.ts";
import { deadLettersContract } from "./dead-letters.ts";
import { eventBusContract, seen } from "./event-bus.ts";
import { findingsTopicContract } from "./findings-topic.ts";
import { jobBrowserContract } from "./job-browser.ts";
import { jobQueueContract } from "./job-queue.ts";
import { jobQueueTimeContract } from "./job-queue-time.ts";
import { memoryPlatform, memoryStorage, refuseToWrite } from "./memory-platform.ts";
import type { Outputs } from "./outputs.ts";
import { poisonContract } from "./poison.ts";
import { resultStoreContract } from "./result-store.ts";
import { sharedCountsContract } from "./shared-counts.ts";
import { signingKeysContract, stackName } from "./signing-keys.ts";
import type { Stores } from "./stores.ts";
import { usageContract } from "./usage.ts";

type Opened = Stores & Outputs;

/** The storage stays in this process, and several platforms may stand on it as several processes do on a disk. */
function open(clock = { now: Date.UTC(2026, 0, 1) }, storage = memoryStorage(clock), write = () => {}): Opened {
  const now = (): number => clock.now;
  const platform = memoryPlatform({ storage, now, write }, stackName);
  return {
    ...platform,
    platform,
    leaseSeconds: LEASE_SECONDS,
    now,
    async advance(seconds) {
      clock.now += seconds * 1000;
    },
    findings: async () => storage.findings,
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
    another: async () => open(clock, storage),
    unwritable: async () => open(clock, storage, refuseToWrite),
    [Symbol.asyncDispose]: platform.close,
  };
}

// #region suites
const memory = { name: "the memory platform", ordered: true, toldClock: true, make: async () => open() };

jobQueueContract(memory);
jobQueueTimeContract(memory);
poisonContract(memory);
deadLettersContract(memory);
jobBrowserContract(memory);
resultStoreContract(memory);
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
