import { type LoadResult, run } from "./load.ts";
import { watchNoise } from "./noise.ts";
import { type OrdinaryFile, ordinaryFiles } from "./ordinary/ordinary-files.ts";
import { cpuSeconds, type Measured } from "./processes.ts";
import { askRaw, binary, measure, peak, type Row, type Service, startRaw, startServices } from "./services.ts";
import { head, median, percentile, rate, row } from "./table.ts";

/** How often all files are sent in one measurement; enough that the end, when not all connections have work, is small. */
const PASSES: [connections: number, passes: number][] = [
  [1, 1],
  [16, 2],
];
const ROUNDS = Math.max(5, Number(process.env.BENCH_ROUNDS ?? 5));

const RAW = "raw clamd";
const Q = "Lazaret Q";
const BOTH = "Lazaret P with clamd";

/** What we want, and of whom. */
const TARGETS: Readonly<Record<string, { share: number; of: string }>> = {
  [Q]: { share: 0.85, of: RAW },
  [BOTH]: { share: 0.75, of: Q },
};

interface System {
  name: string;
  measured: Measured;
  work(connections: number, passes: number): Promise<LoadResult>;
}

interface MixRow extends Row {
  /** CPU that clamd took for each file meanwhile. */
  clamdMs: number;
}

/** A mix of ordinary files, through clamd alone and through the three set-ups. Every answer must be clean. */
export async function measureMix(folder: string, clamd: { socketPath: string; pid: number }): Promise<void> {
  const address = `unix:${clamd.socketPath}`;
  const files = ordinaryFiles();
  const raw = startRaw(address);
  const services = await startServices(folder, address);
  const systems: System[] = [
    { name: RAW, measured: raw, work: (connections, passes) => askRaw(raw, { connections, passes }) },
    ...Object.entries(services).map(([name, service]) => ({
      name: `Lazaret ${name}`,
      measured: service.measured,
      work: (connections: number, passes: number) => sendAll(service, files, { connections, passes }),
    })),
  ];
  const ownPids = (): number[] => [process.pid, clamd.pid, ...systems.map(({ measured }) => measured.child.pid ?? 0)];

  try {
    // Not measured: threads and caches get warm, and an answer other than clean is found before the long part.
    for (const { work } of systems) await work(16, 1);
    const bytes = files.reduce((sum, { content }) => sum + content.length, 0);
    console.log(`\n${files.length} ordinary files, ${(bytes / 1e6).toFixed(1)} MB; medians of ${ROUNDS} rounds.\n`);
    const noise = watchNoise(ownPids);
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
      const rounds: Map<string, MixRow>[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        rounds.push(await measureRound(rotated(systems, round), { connections, passes, clamdPid: clamd.pid }));
      }
      printRows(rounds, { connections, bytesPerFile: bytes / files.length });
    }
    console.log(`\nOther processes took ${(100 * noise.share()).toFixed(0)} % of all cores meanwhile.`);
    for (const { name, measured } of systems) console.log(`\nPeak RSS of ${name}: ${peak(measured)}.`);
  } finally {
    raw.child.stdin?.end();
    await Promise.all(Object.values(services).map(({ measured }) => measured.stop()));
  }
}

function sendAll(
  { port }: Service,
  files: readonly OrdinaryFile[],
  options: { connections: number; passes: number },
): Promise<LoadResult> {
  const fileAt = (index: number): OrdinaryFile => files[index % files.length] as OrdinaryFile;
  const body = (index: number): Buffer[] => [fileAt(index).content];
  const load = binary(port, { body, connections: options.connections, forMs: Number.POSITIVE_INFINITY });
  return run({ ...load, atMost: options.passes * files.length, nameOf: (index) => fileAt(index).name });
}

/** One measurement of each, one after the other. */
async function measureRound(
  systems: readonly System[],
  options: { connections: number; passes: number; clamdPid: number },
): Promise<Map<string, MixRow>> {
  const rows = new Map<string, MixRow>();
  for (const { name, measured, work } of systems) {
    const before = cpuSeconds(options.clamdPid);
    const result = await measure(measured, () => work(options.connections, options.passes));
    const clamdMs = ((cpuSeconds(options.clamdPid) - before) * 1000) / result.requests;
    rows.set(name, { ...result, clamdMs });
  }
  return rows;
}

/** Ratios are taken within a round, where the machine was the same for both. */
function printRows(
  rounds: readonly ReadonlyMap<string, MixRow>[],
  options: { connections: number; bytesPerFile: number },
): void {
  const { connections, bytesPerFile } = options;
  const speed = (result: MixRow | undefined): number => (result ? result.requests / result.seconds : Number.NaN);
  const names = [RAW, ...[...(rounds[0]?.keys() ?? [])].filter((name) => name !== RAW)];
  const share = (name: string, other: string): number =>
    median(rounds.map((round) => speed(round.get(name)) / speed(round.get(other))));

  // What the throughput would be if nobody else used the cores: steadier than the clock on a machine that is shared.
  const cpu = (result: MixRow | undefined): number => (result ? result.cpuMs + result.clamdMs : Number.NaN);
  const shareByCpu = (name: string): number => median(rounds.map((round) => cpu(round.get(Q)) / cpu(round.get(name))));

  for (const name of names) {
    const results = rounds.flatMap((round) => round.get(name) ?? []);
    const perSecond = median(results.map(speed));
    const latency = (part: number): string =>
      median(results.map((each) => percentile(each.latencies, part))).toFixed(1);
    const target = TARGETS[name];
    console.log(
      row(
        connections,
        name,
        rate(perSecond),
        rate((perSecond * bytesPerFile) / 1e6),
        latency(0.5),
        latency(0.99),
        median(results.map(({ cpuMs }) => cpuMs)).toFixed(1),
        median(results.map(({ clamdMs }) => clamdMs)).toFixed(1),
        share(name, RAW).toFixed(2),
        share(name, Q).toFixed(2),
        shareByCpu(name).toFixed(2),
        target
          ? `≥ ${target.share} of ${target.of}: ${share(name, target.of) >= target.share ? "reached" : "missed"}`
          : "",
      ),
    );
  }
}

/** The first becomes the last, so that none is always measured at the same point of a round. */
function rotated<T>(list: readonly T[], by: number): T[] {
  return list.map((_, index) => list[(index + by) % list.length] as T);
}
