import { EventEmitter } from "node:events";
import { Logger, makeWorkerUtils, run } from "graphile-worker";

const logger = new Logger(() => (level, message) => level === "error" && console.error(message));

/** With the batching that its page on performance names. It keeps no results: the task writes them to a table. */
export async function open(url) {
  const utils = await makeWorkerUtils({ connectionString: url, maxPoolSize: 4, logger });
  await utils.migrate();
  await utils.withPgClient((client) =>
    client.query("CREATE TABLE IF NOT EXISTS public.scan_results (trace text PRIMARY KEY, result json NOT NULL)"),
  );
  const insert =
    "INSERT INTO public.scan_results VALUES ($1, $2) ON CONFLICT (trace) DO UPDATE SET result = excluded.result";
  return {
    add: (index) => utils.addJob("scan", contentOf(index)),
    async work(jobsAtOnce, onDone) {
      const events = new EventEmitter();
      events.on("job:complete", onDone);
      const runner = await run({
        events,
        preset: {
          worker: {
            connectionString: url,
            maxPoolSize: 10,
            concurrentJobs: jobsAtOnce,
            pollInterval: 1000,
            localQueue: { size: jobsAtOnce + 1 },
            completeJobBatchDelay: 0,
            logger,
          },
        },
        noHandleSignals: true,
        taskList: {
          scan: ({ trace_id }, { query }) => query(insert, [trace_id, { status: "clean", size: 4096 }]),
        },
      });
      return () => runner.stop();
    },
    close: () => utils.release(),
  };
}

function contentOf(index) {
  return { url: "https://files.example/reports/q3.pdf", custom_data: `order ${index}`, trace_id: `trace ${index}` };
}
