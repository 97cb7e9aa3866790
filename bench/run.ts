// npm run bench: one clamd, three ways to it, in one run. Prints a Markdown table; ratios carry over, numbers do not.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownClamd } from "../packages/server/src/engines/clamd/own-clamd.ts";
import { type LoadResult, run } from "./load.ts";
import { cpuSeconds, lineWith, type Measured, peakMb, start } from "./processes.ts";
import { sample } from "./sample.ts";

const KB = 1024;
const SIZES: [label: string, bytes: number][] = [
  ["4 KB", 4 * KB],
  ["100 KB", 100 * KB],
  ["1 MB", 1024 * KB],
  ["10 MB", 10 * 1024 * KB],
];
const AT_ONCE = [1, 4, 16];
const FOR_MS = Number(process.env.BENCH_MS ?? 3000);
const LARGE_BYTES = 100 * 1024 * KB;

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "lazaret-bench-"));
const clamd = await ownClamd({
  folder,
  signaturesDir: here("../packages/server/signatures"),
  config: { DisableCache: "yes", MaxThreads: "16" },
});
const address = `unix:${clamd.socketPath}`;

const raw = start(process.execPath, [here("raw-clamd.ts"), address]);
const peer = start(process.execPath, [here("peer.mjs"), clamd.socketPath]);
const peerPort = Number((await lineWith(peer, /listening (\d+)/))[1]);
const serviceQ = await startService("Q", address);
const serviceBoth = await startService("P", address);
const serviceP = await startService("P", "none");

interface Row extends LoadResult {
  cpuMs: number;
}

type System = [name: string, measured: Measured, work: (file: Buffer, connections: number) => Promise<LoadResult>];
const systems: System[] = [
  ["raw clamd", raw, (file, connections) => askRaw(file.length, connections)],
  ["Lazaret Q", serviceQ.measured, (file, connections) => run(binary(serviceQ.port, file, connections))],
  ["peer", peer, (file, connections) => run(form(peerPort, file, connections))],
  [
    "Lazaret P with clamd",
    serviceBoth.measured,
    (file, connections) => run(binary(serviceBoth.port, file, connections)),
  ],
  ["Lazaret P alone", serviceP.measured, (file, connections) => run(binary(serviceP.port, file, connections))],
];

try {
  console.log("| file | at once | | scans/s | p50 ms | p99 ms | CPU ms/scan | of raw clamd | of the peer | of Q |");
  console.log("|---|---|---|---|---|---|---|---|---|---|");
  for (const [label, bytes] of SIZES) {
    const file = sample(bytes);
    for (const connections of AT_ONCE) {
      const rows: [name: string, row: Row][] = [];
      for (const [name, measured, work] of systems)
        rows.push([name, await measure(measured, () => work(file, connections))]);
      const rate = (index: number): number => (rows[index]?.[1].requests ?? 0) / (rows[index]?.[1].seconds ?? 1);
      for (const [index, [name, row]] of rows.entries()) {
        const cells = [
          label,
          connections,
          name,
          rate(index).toFixed(rate(index) < 100 ? 1 : 0),
          percentile(row.latencies, 0.5).toFixed(1),
          percentile(row.latencies, 0.99).toFixed(1),
          row.cpuMs.toFixed(2),
          (rate(index) / rate(0)).toFixed(2),
          (rate(index) / rate(2)).toFixed(2),
          (rate(index) / rate(1)).toFixed(2),
        ];
        console.log(`| ${cells.join(" | ")} |`);
      }
    }
  }
  const large = sample(LARGE_BYTES);
  for (const [name, service] of [
    ["Q", serviceQ],
    ["P with clamd", serviceBoth],
    ["P alone", serviceP],
  ] as const) {
    const before = mb(service.measured);
    await run({ ...binary(service.port, large, 16), forMs: 0 });
    console.log(
      `\nPeak RSS of Lazaret ${name}: ${before} after the table, ${mb(service.measured)} after 16 × 100 MB at once.`,
    );
  }
  if (process.env.BENCH_PEER_LARGE !== "no") {
    const before = mb(peer);
    await run({ ...form(peerPort, large, 16), forMs: 0 });
    console.log(`\nPeak RSS of the peer: ${before} after the table, ${mb(peer)} after 16 × 100 MB at once.`);
  }
} finally {
  raw.child.stdin?.end();
  await Promise.all([peer.stop(), ...[serviceQ, serviceBoth, serviceP].map(({ measured }) => measured.stop())]);
  await clamd.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function startService(engine: "P" | "Q", clamdAddress: string): Promise<{ measured: Measured; port: number }> {
  const measured = start(process.execPath, [here("../packages/server/bin/lazaret.mjs"), "serve"], {
    LAZARET_API_KEYS: "bench-key",
    LAZARET_ENGINE: engine,
    LAZARET_CLAMD: clamdAddress,
    LAZARET_DATA_DIR: join(folder, `data-${engine}-${clamdAddress === "none"}`),
    LAZARET_HOST: "127.0.0.1",
    LAZARET_PORT: "0",
    LAZARET_CONCURRENCY: "16",
  });
  const [, port] = await lineWith(measured, /"event":"listening".*"port":(\d+)/);
  return { measured, port: Number(port) };
}

async function measure(measured: Measured, work: () => Promise<LoadResult>): Promise<Row> {
  const pid = measured.child.pid ?? 0;
  const before = cpuSeconds(pid);
  const result = await work();
  return { ...result, cpuMs: ((cpuSeconds(pid) - before) * 1000) / result.requests };
}

async function askRaw(bytes: number, connections: number): Promise<LoadResult> {
  const answer = new Promise<string>((resolve) => raw.lines.once("line", resolve));
  raw.child.stdin?.write(`${JSON.stringify({ bytes, connections, forMs: FOR_MS })}\n`);
  return JSON.parse(await answer);
}

function binary(port: number, file: Buffer, connections: number) {
  const path = "/api/v1/scan/sync/binary";
  return { port, path, contentType: "application/octet-stream", body: [file], connections, forMs: FOR_MS };
}

function form(port: number, file: Buffer, connections: number) {
  const head =
    '--b0\r\nContent-Disposition: form-data; name="file"; filename="x"\r\nContent-Type: application/octet-stream\r\n\r\n';
  const body = [Buffer.from(head), file, Buffer.from("\r\n--b0--\r\n")];
  return { port, path: "/scan", contentType: "multipart/form-data; boundary=b0", body, connections, forMs: FOR_MS };
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function mb(measured: Measured): string {
  return `${peakMb(measured.child.pid ?? 0).toFixed(0)} MB`;
}
