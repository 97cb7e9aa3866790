import { fileURLToPath } from "node:url";
import { type Load, type LoadResult, run } from "./load.ts";
import { lineWith, type Measured, start } from "./processes.ts";
import { sample } from "./sample.ts";
import { askRaw, binary, measure, peak, type Row, type Service, startRaw, startServices } from "./services.ts";
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

type System = [name: string, measured: Measured, work: (file: Buffer, connections: number) => Promise<LoadResult>];

/** One clamd, several ways to it. */
export async function measureScans(folder: string, clamdSocket: string): Promise<void> {
  const address = `unix:${clamdSocket}`;
  const raw = startRaw(address);
  const peer = start(process.execPath, [fileURLToPath(new URL("peer.mjs", import.meta.url)), clamdSocket]);
  const peerPort = Number((await lineWith(peer, /listening (\d+)/))[1]);
  const services = await startServices(folder, address);
  const upload =
    ({ port }: Service) =>
    (file: Buffer, connections: number) =>
      run(binary(port, { body: [file], connections, forMs: FOR_MS }));
  const systems: System[] = [
    ["raw clamd", raw, (file, connections) => askRaw(raw, { bytes: file.length, connections, forMs: FOR_MS })],
    ["Lazaret Q", services.Q.measured, upload(services.Q)],
    ["peer", peer, (file, connections) => run(form(peerPort, file, connections))],
    ["Lazaret P with clamd", services["P with clamd"].measured, upload(services["P with clamd"])],
    ["Lazaret P alone", services["P alone"].measured, upload(services["P alone"])],
  ];

  try {
    await printTable(systems);
    const large = sample(LARGE_BYTES);
    for (const [name, service] of Object.entries(services)) {
      const before = peak(service.measured);
      await run(binary(service.port, { body: [large], connections: 16, forMs: 0 }));
      const after = peak(service.measured);
      console.log(`\nPeak RSS of Lazaret ${name}: ${before} after the table, ${after} after 16 × 100 MB at once.`);
    }
    if (process.env.BENCH_PEER_LARGE !== "no") {
      const before = peak(peer);
      await run({ ...form(peerPort, large, 16), forMs: 0 });
      console.log(`\nPeak RSS of the peer: ${before} after the table, ${peak(peer)} after 16 × 100 MB at once.`);
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

function form(port: number, file: Buffer, connections: number): Load {
  const partHead =
    '--b0\r\nContent-Disposition: form-data; name="file"; filename="x"\r\nContent-Type: application/octet-stream\r\n\r\n';
  const body = [Buffer.from(partHead), file, Buffer.from("\r\n--b0--\r\n")];
  const load = binary(port, { body, connections, forMs: FOR_MS });
  return { ...load, path: "/scan", contentType: "multipart/form-data; boundary=b0" };
}
