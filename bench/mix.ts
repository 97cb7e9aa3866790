import type { BenchOptions } from "./arguments.ts";
import { type LoadResult, run } from "./load.ts";
import { shareInWords, watchNoise } from "./noise.ts";
import { type OrdinaryFile, ordinaryFiles } from "./ordinary/ordinary-files.ts";
import type { Measured } from "./processes.ts";
import { alternate, type Contestant, middle, type Rounds, ratios, ratiosByCpu, type Sample } from "./rounds.ts";
import { askRaw, binary, peak, pidOf, type Service, startRaw, startServices } from "./services.ts";
import { head, median, rate, row } from "./table.ts";

/** How often all files are sent in one measurement; enough that the end, when not all connections have work, is small. */
const PASSES: [connections: number, passes: number][] = [
  [1, 1],
  [16, 2],
];
const RAW = "raw clamd";
const Q = "Lazaret Q";
const BOTH = "Lazaret P with clamd";

/** What we want, and of whom. */
const TARGETS: Readonly<Record<string, { share: number; of: string }>> = {
  [Q]: { share: 0.85, of: RAW },
  [BOTH]: { share: 0.75, of: Q },
};

interface MixSystem extends Contestant {
  measured: Measured;
  work(connections: number, passes: number): Promise<LoadResult>;
}

/** A mix of ordinary files, through clamd alone and through the three set-ups. Every answer must be clean. */
export async function measureMix({ folder, clamd, pace }: BenchOptions): Promise<void> {
  const address = `unix:${clamd.socketPath}`;
  const files = ordinaryFiles();
  const raw = startRaw(address);
  const services = await startServices(folder, address);
  const systems: MixSystem[] = [
    {
      name: RAW,
      measured: raw,
      pids: [pidOf(raw)],
      work: (connections, passes) => askRaw(raw, { connections, passes }),
    },
    ...Object.entries(services).map(([name, service]) => ({
      name: `Lazaret ${name}`,
      measured: service.measured,
      pids: [pidOf(service.measured)],
      work: (connections: number, passes: number) => sendAll(service, files, { connections, passes }),
    })),
  ];

  try {
    // Not measured: threads and caches get warm, and an answer other than clean is found before the long part.
    for (const { work } of systems) await work(16, 1);
    const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
    console.log(
      `\n${files.length} ordinary files, ${(bytes / 1e6).toFixed(1)} MB; medians of ${pace.rounds} rounds.\n`,
    );
    const noise = watchNoise();
    const titles = [
      "files/s",
      "MB/s",
      "p50 ms",
      "p99 ms",
      "CPU ms/file",
      "clamd ms/file",
      "of raw clamd",
      "of Q",
      "of Q by CPU",
    ];
    console.log(head("at once", "", ...titles, "target"));
    for (const [connections, passes] of PASSES) {
      const work = (system: MixSystem): Promise<LoadResult> => system.work(connections, passes);
      const rounds = await alternate(systems, { rounds: pace.rounds, clamdPid: clamd.pid, work });
      printRows(rounds, { connections, bytesPerFile: bytes / files.length });
    }
    console.log(`\n${shareInWords(noise.share())}`);
    for (const { name, measured } of systems) console.log(`\nPeak RSS of ${name}: ${peak(measured)}.`);
  } finally {
    raw.child.stdin?.end();
    await Promise.all(Object.values(services).map(({ measured }) => measured.stop()));
  }
}

export function sendAll(
  { port }: Service,
  files: readonly OrdinaryFile[],
  options: { connections: number; passes: number },
): Promise<LoadResult> {
  const fileAt = (index: number): OrdinaryFile => files[index % files.length] as OrdinaryFile;
  const body = (index: number): Buffer[] => [fileAt(index).content];
  const load = binary(port, { body, connections: options.connections, forMs: Number.POSITIVE_INFINITY });
  return run({ ...load, atMost: options.passes * files.length, nameOf: (index) => fileAt(index).name });
}

/** Ratios are taken within a round, where the machine was the same for both. */
function printRows(rounds: Rounds, options: { connections: number; bytesPerFile: number }): void {
  const { connections, bytesPerFile } = options;
  const share = (name: string, other: string): number => median(ratios(rounds, [name, other], "perSecond"));
  for (const name of rounds.keys()) {
    const of = (what: keyof Sample): number => middle(rounds, name, what);
    const target = TARGETS[name];
    console.log(
      row(
        connections,
        name,
        rate(of("perSecond")),
        rate((of("perSecond") * bytesPerFile) / 1e6),
        of("p50").toFixed(1),
        of("p99").toFixed(1),
        of("cpuMs").toFixed(1),
        of("clamdMs").toFixed(1),
        share(name, RAW).toFixed(2),
        share(name, Q).toFixed(2),
        median(ratiosByCpu(rounds, [name, Q])).toFixed(2),
        target
          ? `≥ ${target.share} of ${target.of}: ${share(name, target.of) >= target.share ? "reached" : "missed"}`
          : "",
      ),
    );
  }
}
