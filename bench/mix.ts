import type { BenchOptions } from "./arguments.ts";
import { type LoadResult, run } from "./load.ts";
import { type OrdinaryFile, ordinaryFiles } from "./ordinary/ordinary-files.ts";
import { alternate, type Contestant, middle, ratios, type Sample } from "./rounds.ts";
import { startEngines } from "./scans.ts";
import { startRawClamd, upload } from "./services.ts";
import { head, median, rate, row } from "./table.ts";

const ROUNDS = 5;
/** How often all files are sent in one measurement; enough that the end, when not all connections have work, is small. */
const PASSES: [connections: number, passes: number][] = [
  [1, 1],
  [16, 2],
];

interface Scanner extends Contestant {
  work(connections: number, passes: number): Promise<LoadResult>;
}

/** Sends a mix of ordinary files through clamd alone and through the three set-ups. Every answer must be clean. */
export async function measureMix({ folder, clamd }: BenchOptions): Promise<void> {
  const address = `unix:${clamd.socketPath}`;
  const files = ordinaryFiles();
  const fileAt = (index: number): OrdinaryFile => files[index % files.length] as OrdinaryFile;
  const raw = startRawClamd(address);
  const engines = Object.values(await startEngines(folder, address));
  const scanners: Scanner[] = [
    { ...raw, work: (connections, passes) => raw.ask({ connections, passes }) },
    ...engines.map(
      (service): Scanner => ({
        ...service,
        work: (connections, passes) =>
          run({
            ...upload(service.port, {
              body: (index) => [fileAt(index).content],
              connections,
              forMs: Number.POSITIVE_INFINITY,
            }),
            atMost: passes * files.length,
            nameOf: (index) => fileAt(index).name,
          }),
      }),
    ),
  ];
  try {
    // Not measured: threads and caches get warm, and an answer other than clean is found before the long part.
    for (const { work } of scanners) await work(16, 1);
    const megabytes = files.reduce((sum, { content }) => sum + content.length, 0) / 1e6;
    console.log(`\n${files.length} ordinary files, ${megabytes.toFixed(1)} MB; medians of ${ROUNDS} rounds.\n`);
    console.log(head("at once", "", "files/s", "MB/s", "p50 ms", "CPU ms/file", "clamd ms/file", "of raw clamd"));
    for (const [connections, passes] of PASSES) {
      const work = (scanner: Scanner) => scanner.work(connections, passes);
      const rounds = await alternate(scanners, { rounds: ROUNDS, clamdPid: clamd.pid, work });
      for (const { name } of scanners) {
        const of = (what: keyof Sample): number => middle(rounds, name, what);
        const rates = [rate(of("perSecond")), rate((of("perSecond") * megabytes) / files.length)];
        const costs = [of("p50"), of("cpuMs"), of("clamdMs")].map((ms) => ms.toFixed(1));
        console.log(row(connections, name, ...rates, ...costs, median(ratios(rounds, name, raw.name)).toFixed(2)));
      }
    }
    for (const { name, peakMb } of engines) console.log(`\nPeak memory of ${name}: ${peakMb().toFixed(0)} MB.`);
  } finally {
    raw.stop();
    for (const service of engines) await service.stop();
  }
}
