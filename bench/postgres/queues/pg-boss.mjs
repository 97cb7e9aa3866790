import { PgBoss } from "pg-boss";

/**
 * By `fetch` and `complete` in loops, without the pauses of `work`. Each job on its own, as the others do it; or, with `#batches`
 * behind the URL, all of them in one batch, which is settled with its slowest job.
 */
export async function open(url) {
  const [connectionString, batches] = url.split("#");
  const boss = new PgBoss({ connectionString, max: batches ? 4 : 10, schedule: false });
  boss.on("error", (error) => console.error(error.message));
  await boss.start();
  await boss.createQueue("scan");
  return {
    add: (index) => boss.send("scan", contentOf(index)),
    async work(jobsAtOnce, onDone) {
      const [loops, batchSize] = batches ? [1, jobsAtOnce] : [jobsAtOnce, 1];
      let working = true;
      async function takeForever() {
        while (working) {
          const jobs = await boss.fetch("scan", { batchSize });
          if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, 100));
          else await boss.complete("scan", jobs.map(idOf), { status: "clean", size: 4096 });
          for (const _ of jobs) onDone();
        }
      }
      const taking = Array.from({ length: loops }, takeForever);
      return async () => {
        working = false;
        await Promise.all(taking);
      };
    },
    close: () => boss.stop({ graceful: false }),
  };
}

const idOf = ({ id }) => id;

function contentOf(index) {
  return { url: "https://files.example/reports/q3.pdf", custom_data: `order ${index}`, trace_id: `trace ${index}` };
}
