/**
 * Publishes findings, and sends them to a URL, until it is killed. Says `published` with the id of each finding that is
 * durable.
 */
import { randomUUID } from "node:crypto";
import { attributesOf } from "../../src/deliver/findings-topic.ts";
import { tryFanOut } from "../support/try-fan-out.ts";

const [dataDir = "", endpoint = ""] = process.argv.slice(2);
const { topic } = await tryFanOut(dataDir, {
  subscriptions: [{ protocol: "http", endpoint }],
  clock: { now: Date.now() },
});

async function publishForever(): Promise<never> {
  for (;;) {
    const id = randomUUID();
    const message = { bucket: "uploads", key: id, size: 1, status: "clean", action: "no" } as const;
    await topic.publish({ id, message, attributes: attributesOf(message), body: "json" });
    process.stdout.write(`published ${id}\n`);
  }
}

await Promise.race(Array.from({ length: 4 }, publishForever));
