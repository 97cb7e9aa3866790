import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Load, type LoadResult, run } from "./load.ts";
import { cpuSeconds, lineWith, type Measured, peakMb, start } from "./processes.ts";
import { sample } from "./sample.ts";
import { head, percentile, rate, row } from "./table.ts";

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

interface Row extends LoadResult {
  cpuMs: number;
}

interface Service {
  measured: Measured;
  port: number;
}

type System = [name: string, measured: Measured, work: (file: Buffer, connections: number) => Promise<LoadResult>];

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** One clamd, several ways to it. */
export async function measureScans(folder: string, clamdSocket: string): Promise<void> {
  const address = `unix:${clamdSocket}`;
  const raw = start(process.execPath, [here("raw-clamd.ts"), address]);
  const peer = start(process.execPath, [here("peer.mjs"), clamdSocket]);
  const peerPort = Number((await lineWith(peer, /listening (\d+)/))[1]);
  const serviceQ = await startService("Q", address, join(folder, "data-q"));
  const serviceBoth = await startService("P", address, join(folder, "data-both"));
  const serviceP = await startService("P", "none", join(folder, "data-p"));
  const services = { Q: serviceQ, "P with clamd": serviceBoth, "P alone": serviceP };
  const upload =
    ({ port }: Service) =>
    (file: Buffer, connections: number) =>
      run(binary(port, file, connections));
  const systems: System[] = [
    ["raw clamd", raw, (file, connections) => askRaw(raw, file.length, connections)],
    ["Lazaret Q", serviceQ.measured, upload(serviceQ)],
    ["peer", peer, (file, connections) => run(form(peerPort, file, connections))],
    ["Lazaret P with clamd", serviceBoth.measured, upload(serviceBoth)],
    ["Lazaret P alone", serviceP.measured, upload(serviceP)],
  ];

  try {
    await printTable(systems);
    const large = sample(LARGE_BYTES);
    for (const [name, service] of Object.entries(services)) {
      const before = mb(service.measured);
      await run({ ...binary(service.port, large, 16), forMs: 0 });
      const after = mb(service.measured);
      console.log(`\nPeak RSS of Lazaret ${name}: ${before} after the table, ${after} after 16 × 100 MB at once.`);
    }
    if (process.env.BENCH_PEER_LARGE !== "no") {
      const before = mb(peer);
      await run({ ...form(peerPort, large, 16), forMs: 0 });
      console.log(`\nPeak RSS of the peer: ${before} after the table, ${mb(peer)} after 16 × 100 MB at once.`);
    }
  } finally {
    raw.child.stdin?.end();
    await Promise.all([peer.stop(), ...Object.values(services).map(({ measured }) => measured.stop())]);
  }
}

async function printTable(systems: readonly System[]): Promise<void> {
  const ratios = ["of raw clamd", "of the peer", "of Q"];
  console.log(head("file", "at once", "", "scans/s", "p50 ms", "p99 ms", "CPU ms/scan", ...ratios));
  for (const [label, bytes] of SIZES) {
    const file = sample(bytes);
    for (const connections of AT_ONCE) {
      const rows: [name: string, row: Row][] = [];
      for (const [name, measured, work] of systems)
        rows.push([name, await measure(measured, () => work(file, connections))]);
      const perSecond = (index: number): number => (rows[index]?.[1].requests ?? 0) / (rows[index]?.[1].seconds ?? 1);
      for (const [index, [name, { latencies, cpuMs }]] of rows.entries()) {
        const times = [percentile(latencies, 0.5).toFixed(1), percentile(latencies, 0.99).toFixed(1)];
        const shares = [0, 2, 1].map((other) => (perSecond(index) / perSecond(other)).toFixed(2));
        console.log(row(label, connections, name, rate(perSecond(index)), ...times, cpuMs.toFixed(2), ...shares));
      }
    }
  }
}

async function startService(engine: "P" | "Q", clamdAddress: string, dataDir: string): Promise<Service> {
  const measured = start(process.execPath, [here("../packages/server/bin/lazaret.mjs"), "serve"], {
    LAZARET_API_KEYS: "bench-key",
    LAZARET_ENGINE: engine,
    LAZARET_CLAMD: clamdAddress,
    LAZARET_DATA_DIR: dataDir,
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

async function askRaw(raw: Measured, bytes: number, connections: number): Promise<LoadResult> {
  const answer = new Promise<string>((resolve) => raw.lines.once("line", resolve));
  raw.child.stdin?.write(`${JSON.stringify({ bytes, connections, forMs: FOR_MS })}\n`);
  return JSON.parse(await answer);
}

function scanOf(port: number, connections: number): Pick<Load, "port" | "connections" | "answer" | "forMs"> {
  return { port, connections, answer: /^HTTP\/1\.1 200 .*"status":"clean"/s, forMs: FOR_MS };
}

function binary(port: number, file: Buffer, connections: number): Load {
  const path = "/api/v1/scan/sync/binary";
  return { ...scanOf(port, connections), path, contentType: "application/octet-stream", body: [file] };
}

function form(port: number, file: Buffer, connections: number): Load {
  const partHead =
    '--b0\r\nContent-Disposition: form-data; name="file"; filename="x"\r\nContent-Type: application/octet-stream\r\n\r\n';
  const body = [Buffer.from(partHead), file, Buffer.from("\r\n--b0--\r\n")];
  return { ...scanOf(port, connections), path: "/scan", contentType: "multipart/form-data; boundary=b0", body };
}

function mb(measured: Measured): string {
  return `${peakMb(measured.child.pid ?? 0).toFixed(0)} MB`;
}
