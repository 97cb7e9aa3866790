import { type BenchOptions, scansAt } from "./arguments.ts";
import { shareInWords, watchNoise } from "./noise.ts";
import { alternate, middle, type Rounds, ratios, type Sample } from "./rounds.ts";
import { sample } from "./sample.ts";
import { type ScanSystem, startScanSystems } from "./scan-systems.ts";
import { peak } from "./services.ts";
import { head, median, rate, row } from "./table.ts";

const KB = 1024;
const SIZES: [label: string, bytes: number][] = [
  ["4 KB", 4 * KB],
  ["100 KB", 100 * KB],
  ["1 MB", 1024 * KB],
  ["10 MB", 10 * 1024 * KB],
];
const AT_ONCE = [1, 4, 16];
const LARGE_BYTES = 100 * 1024 * KB;

/** Each size of file, by so many clients at once, through each of the systems in turns. */
export async function measureScans({ folder, clamd, pace }: BenchOptions): Promise<void> {
  await using systems = await startScanSystems(folder, clamd.socketPath);
  const compared = systems.named("raw clamd", "Q", "peer", "P with clamd", "P alone");
  const noise = watchNoise();
  const costs = ["CPU ms/scan", "clamd ms/scan", "load ms/scan"];
  const names = ["raw clamd", "peer", "Q"];
  console.log(`\nMedians of ${pace.rounds} rounds, below 1 MB of ${pace.smallRounds}.\n`);
  console.log(
    head("file", "at once", "", "scans/s", "p50 ms", "p99 ms", ...costs, ...names.map((name) => `of ${name}`)),
  );
  for (const [label, bytes] of SIZES) {
    const file = sample(bytes);
    for (const connections of AT_ONCE) {
      const { rounds: count, forMs } = scansAt(pace, bytes);
      const work = (system: ScanSystem) => system.scan(file, { connections, forMs });
      const rounds = await alternate(compared, { rounds: count, clamdPid: clamd.pid, work });
      for (const { name } of compared) console.log(row(label, connections, name, ...cells(rounds, name, names)));
    }
  }
  console.log(`\n${shareInWords(noise.share())}`);

  const large = sample(LARGE_BYTES);
  for (const { name, measured, scan } of compared.slice(1)) {
    if (name === "peer" && process.env.BENCH_PEER_LARGE === "no") continue;
    const before = peak(measured);
    await scan(large, { connections: 16, forMs: 0 });
    console.log(`\nPeak RSS of ${name}: ${before} after the table, ${peak(measured)} after 16 × 100 MB at once.`);
  }
}

function cells(rounds: Rounds, name: string, others: readonly string[]): string[] {
  const of = (what: keyof Sample): number => middle(rounds, name, what);
  return [
    rate(of("perSecond")),
    of("p50").toFixed(1),
    of("p99").toFixed(1),
    of("cpuMs").toFixed(2),
    of("clamdMs").toFixed(2),
    of("loadMs").toFixed(2),
    ...others.map((other) => median(ratios(rounds, [name, other], "perSecond")).toFixed(2)),
  ];
}
