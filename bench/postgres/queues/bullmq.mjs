import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";

/** `url` is the path of the socket of its Redis. */
export async function open(url) {
  const queue = new Queue("scan", { connection: new Redis(url) });
  return {
    add: (index) => queue.add("scan", contentOf(index), { removeOnComplete: { age: 86_400 }, attempts: 3 }),
    async work(jobsAtOnce, onDone) {
      const connection = new Redis(url, { maxRetriesPerRequest: null });
      const worker = new Worker("scan", async () => ({ status: "clean", size: 4096 }), {
        connection,
        concurrency: jobsAtOnce,
      });
      worker.on("completed", onDone).on("error", (error) => console.error(error.message));
      return async () => {
        await worker.close();
        connection.disconnect();
      };
    },
    close: () => queue.close(),
  };
}

function contentOf(index) {
  return { url: "https://files.example/reports/q3.pdf", custom_data: `order ${index}`, trace_id: `trace ${index}` };
}
