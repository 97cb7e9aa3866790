import { postgres } from "../support/postgres-stores.ts";
import { callbackFailuresContract } from "./callback-failures.ts";
import { deadLettersContract } from "./dead-letters.ts";
import { jobBrowserContract } from "./job-browser.ts";
import { jobQueueContract } from "./job-queue.ts";
import { jobQueueTimeContract } from "./job-queue-time.ts";
import { poisonContract } from "./poison.ts";
import { resultStoreContract } from "./result-store.ts";
import { usageContract } from "./usage.ts";

jobQueueContract(postgres);
jobQueueTimeContract(postgres);
poisonContract(postgres);
deadLettersContract(postgres);
jobBrowserContract(postgres);
resultStoreContract(postgres);
usageContract(postgres);
callbackFailuresContract(postgres);
