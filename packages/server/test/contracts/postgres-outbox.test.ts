import { OUTBOX_LEASE_SECONDS, outboxLimits } from "../../src/platforms/shared/messages/outbox.ts";
import { advance, type PostgresPlace, postgresPlace, postgresStores } from "../support/postgres-stores.ts";
import { type OutboxStore, outboxContract } from "./outbox.ts";

async function open(place: PostgresPlace): Promise<OutboxStore> {
  const { outbox, close } = await postgresStores(place);
  return {
    outbox,
    advance: (seconds) => advance(place, seconds),
    another: () => open(place),
    [Symbol.asyncDispose]: close,
  };
}

outboxContract({
  name: "the PostgreSQL platform",
  leaseSeconds: OUTBOX_LEASE_SECONDS,
  async make(limits = {}) {
    const place = await postgresPlace({ outboxLimits: { ...outboxLimits, ...limits } });
    const store = await open(place);
    return {
      ...store,
      async [Symbol.asyncDispose]() {
        await store[Symbol.asyncDispose]();
        await place[Symbol.asyncDispose]();
      },
    };
  },
});
