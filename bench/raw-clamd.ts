// The baseline: our clamd client without HTTP, in a process of its own. Reads one JSON line per measurement from
// standard input, {"bytes","connections","forMs"}, and answers with one line.
import { createInterface } from "node:readline";
import { parseClamdAddress } from "../packages/server/src/engines/clamd/address.ts";
import { clamd } from "../packages/server/src/engines/clamd/clamd.ts";
import { sample } from "./sample.ts";

const address = parseClamdAddress(process.argv[2] ?? "");
if (!address) throw new Error("usage: raw-clamd.ts unix:/path");
const engine = clamd({ address, concurrency: 64 });
const never = new AbortController().signal;
const CHUNK_BYTES = 64 * 1024;

for await (const line of createInterface({ input: process.stdin })) {
  const { bytes, connections, forMs } = JSON.parse(line) as { bytes: number; connections: number; forMs: number };
  const file = sample(bytes);
  const latencies: number[] = [];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      do {
        const asked = performance.now();
        const verdict = await engine.scan(chunks(file), never);
        if (verdict.kind !== "clean") throw new Error(`unexpected verdict ${verdict.kind}`);
        latencies.push(performance.now() - asked);
      } while (performance.now() < started + forMs);
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  console.log(JSON.stringify({ requests: latencies.length, seconds, latencies: latencies.sort((a, b) => a - b) }));
}
await engine.close();

async function* chunks(file: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.length; at += CHUNK_BYTES) yield file.subarray(at, at + CHUNK_BYTES);
}
