import { postgresPlace, postgresStores } from "../support/postgres-stores.ts";
import { jobQueueHistories } from "./job-queue-histories.ts";
import type { Stores } from "./stores.ts";

/** Made once, and emptied for each history. A process that "crashed" is closed at the end. */
const place = postgresPlace();

jobQueueHistories(
  {
    name: "the PostgreSQL platform",
    ordered: true,
    toldClock: true,
    async make() {
      const all = new AsyncDisposableStack();
      const { server, options } = await place;
      await server.sql(`TRUNCATE ${options.schema}.jobs, ${options.schema}.dead_letters, ${options.schema}.results`);
      return { ...(await open(all)), [Symbol.asyncDispose]: () => all.disposeAsync() };
    },
  },
  100,
);

async function open(all: AsyncDisposableStack): Promise<Stores> {
  const stores = all.use(await postgresStores(await place));
  return { ...stores, another: () => open(all) };
}
