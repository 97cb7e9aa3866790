import { openJobStore } from "../../src/platforms/embedded/job-store.ts";
import { OUTBOX_LEASE_SECONDS, type OutboxLimits, outboxLimits } from "../../src/platforms/shared/messages/outbox.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { type OutboxStore, outboxContract } from "./outbox.ts";

interface Place {
  dataDir: string;
  clock: { now: number };
  limits: OutboxLimits;
}

async function open(place: Place): Promise<OutboxStore> {
  const { dataDir, clock, limits } = place;
  const { outbox, close } = await openJobStore(dataDir, { now: () => clock.now, outboxLimits: limits });
  return {
    outbox,
    advance(seconds) {
      clock.now += seconds * 1000;
    },
    another: () => open(place),
    [Symbol.asyncDispose]: close,
  };
}

outboxContract({
  name: "the embedded platform",
  leaseSeconds: OUTBOX_LEASE_SECONDS,
  async make(limits = {}) {
    const folder = temporaryFolder();
    const clock = { now: Date.UTC(2026, 0, 1) };
    const store = await open({ dataDir: folder.path, clock, limits: { ...outboxLimits, ...limits } });
    return {
      ...store,
      async [Symbol.asyncDispose]() {
        await store[Symbol.asyncDispose]();
        folder[Symbol.dispose]();
      },
    };
  },
});
