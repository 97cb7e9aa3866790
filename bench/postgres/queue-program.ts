// One process that submits to a queue and works on it, as it is told by lines of JSON.
// Usage: node queue-program.ts <file in queues/> <url of the queue>
import { createInterface } from "node:readline";
import { atOnce } from "../queue/million.ts";

interface Queue {
  /** Resolves when the job is acknowledged. */
  add(index: number): Promise<unknown>;
  /** Takes jobs, does nothing much, and keeps a result of each; `onDone` when that is committed. Answers how it is stopped. */
  work(jobsAtOnce: number, onDone: () => void): Promise<() => Promise<unknown>>;
  close(): Promise<unknown>;
}

export type OpenQueue = (url: string) => Promise<Queue>;

export type Order =
  | { kind: "submit"; jobs: number; atOnce: number; from: number }
  | { kind: "work"; jobsAtOnce: number }
  | { kind: "rest" };

/** What is done is said in lines, not more often than this. */
const SAY_EVERY_MS = 10;

const [file = "", url = ""] = process.argv.slice(2);
const { open } = (await import(new URL(`./queues/${file}`, import.meta.url).href)) as { open: OpenQueue };
const queue = await open(url);
let stop: (() => Promise<unknown>) | undefined;
let done = 0;
let said = 0;
const say = (answer: object): void => void process.stdout.write(`${JSON.stringify(answer)}\n`);

async function submit({ jobs, atOnce: callers, from }: Extract<Order, { kind: "submit" }>): Promise<void> {
  let next = from;
  const latencies: number[] = [];
  const started = performance.now();
  await atOnce(callers, jobs, async () => {
    next += 1;
    const asked = performance.now();
    await queue.add(next);
    latencies.push(performance.now() - asked);
  });
  const seconds = (performance.now() - started) / 1000;
  say({ requests: jobs, seconds, latencies: latencies.sort((a, b) => a - b) });
}

const telling = setInterval(() => {
  if (done === said) return;
  said = done;
  say({ done });
}, SAY_EVERY_MS);

say({ ready: true });
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as Order;
  if (order.kind === "submit") await submit(order);
  else if (order.kind === "work") {
    done = 0;
    said = 0;
    stop = await queue.work(order.jobsAtOnce, () => {
      done += 1;
    });
  } else {
    await stop?.();
    say({ rested: true });
  }
}
clearInterval(telling);
await queue.close();
process.exit(0);
