import { USUAL_RETENTION } from "../../src/platforms/shared/retention.ts";
import { startAws } from "../support/aws/aws-stores.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { accessStoreContract } from "./access-store.ts";
import { auditLogContract } from "./audit-log.ts";
import { callbackFailuresContract } from "./callback-failures.ts";
import { deadLettersContract } from "./dead-letters.ts";
import { findingsContract } from "./findings.ts";
import { jobBrowserContract } from "./job-browser.ts";
import { jobHistoryContract } from "./job-history.ts";
import { jobQueueContract } from "./job-queue.ts";
import { jobQueueTimeContract } from "./job-queue-time.ts";
import { poisonContract } from "./poison.ts";
import { resultStoreContract } from "./result-store.ts";
import { sharedCountsContract } from "./shared-counts.ts";
import type { Platform } from "./stores.ts";
import { usageContract } from "./usage.ts";

const servers = await startAws();
atTheEnd(() => servers[Symbol.asyncDispose]());

/** Time belongs to the queue service: it can be told to pass, but not to go back. */
const aws: Platform = {
  name: "the AWS platform",
  ordered: false,
  toldClock: false,
  keepsMost: false,
  make: (kept) => servers.stores({ kept: { ...USUAL_RETENTION, ...kept } }),
};

jobQueueContract(aws);
jobQueueTimeContract(aws);
poisonContract(aws);
deadLettersContract(aws);
jobBrowserContract(aws);
// Of these the service knows no time, and the clock is ours.
const byOurClock = { ...aws, toldClock: servers.toldClock };
jobHistoryContract(byOurClock);
resultStoreContract(byOurClock);
findingsContract(byOurClock);
usageContract(byOurClock);
accessStoreContract(byOurClock);
auditLogContract(byOurClock);
sharedCountsContract(byOurClock);
callbackFailuresContract(byOurClock);
