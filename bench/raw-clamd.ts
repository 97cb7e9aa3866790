// The baseline: our clamd client without HTTP, in a process of its own. Reads one JSON line per measurement from
// standard input and answers with one line.
import { createInterface } from "node:readline";
import { parseClamdAddress } from "../packages/server/src/engines/clamd/address.ts";
import { clamd } from "../packages/server/src/engines/clamd/clamd.ts";
import { ordinaryFiles } from "./ordinary/ordinary-files.ts";
import { sample } from "./sample.ts";

/** The same bytes again and again, for some time; or all files of the mix, so many times. */
export type RawRequest = { connections: number } & ({ bytes: number; forMs: number } | { passes: number });

const address = parseClamdAddress(process.argv[2] ?? "");
if (!address) throw new Error("usage: raw-clamd.ts unix:/path");
const engine = clamd({ address, concurrency: 64 });
const never = new AbortController().signal;
const CHUNK_BYTES = 64 * 1024;
let mix: ReturnType<typeof ordinaryFiles> | undefined;

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as RawRequest;
  if ("passes" in request) mix ??= ordinaryFiles();
  const files = "passes" in request ? (mix ?? []) : [{ name: "noise", content: sample(request.bytes) }];
  const atMost = "passes" in request ? request.passes * files.length : Number.POSITIVE_INFINITY;
  const forMs = "passes" in request ? Number.POSITIVE_INFINITY : request.forMs;
  const latencies: number[] = [];
  let sent = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: request.connections }, async () => {
      while (sent < atMost) {
        const file = files[sent % files.length] ?? { name: "nothing", content: Buffer.alloc(0) };
        sent += 1;
        const asked = performance.now();
        const verdict = await engine.scan(chunks(file.content), never);
        if (verdict.kind !== "clean") throw new Error(`unexpected verdict ${JSON.stringify(verdict)} for ${file.name}`);
        latencies.push(performance.now() - asked);
        if (performance.now() >= started + forMs) return;
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  console.log(JSON.stringify({ requests: latencies.length, seconds, latencies: latencies.sort((a, b) => a - b) }));
}
await engine.close();

async function* chunks(file: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.length; at += CHUNK_BYTES) yield file.subarray(at, at + CHUNK_BYTES);
}
