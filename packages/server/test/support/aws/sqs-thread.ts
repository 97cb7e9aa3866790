/**
 * fauxqs in a thread of its own, where time passes only when it is told to: leases and delays then run out when a test
 * says so, however slow the machine is.
 */
import type { AddressInfo } from "node:net";
import { parentPort } from "node:worker_threads";

/** What of fauxqs is not for everybody, and needed here. */
interface Internals {
  SqsStore: new () => { queues: Map<string, { processTimers(): void }> };
}

let told = Date.now();
Date.now = () => told;

const { buildApp } = await import("fauxqs");
const app = import.meta.resolve("fauxqs");
const { SqsStore }: Internals = await import(new URL("./sqs/sqsStore.js", app).href);
const { SnsStore } = await import(new URL("./sns/snsStore.js", app).href);
const { S3Store } = await import(new URL("./s3/s3Store.js", app).href);
const sqsStore = new SqsStore();
const stores = { sqsStore, snsStore: new SnsStore(), s3Store: new S3Store() };
const server = buildApp({ logger: false, stores: stores as never });
// Else an idle connection may be closed just when a client uses it again, and what it sends then be sent twice.
server.server.keepAliveTimeout = 0;
await server.listen({ host: "127.0.0.1", port: 0 });

parentPort?.on("message", (advanceMs: number) => {
  told += advanceMs;
  // The real one does so by itself. This one looks at its clock only when somebody receives, and not when asked to count.
  for (const queue of sqsStore.queues.values()) queue.processTimers();
  parentPort?.postMessage({ now: told });
});
parentPort?.postMessage({ now: told, port: (server.server.address() as AddressInfo).port });
