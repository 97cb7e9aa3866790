import { cpus } from "node:os";
import { type BenchOptions, type Pace, scansAt } from "./arguments.ts";
import { type Costs, mostPerSecond } from "./ceilings.ts";
import { peakMb } from "./processes.ts";
import { alternate, costsOf, type Rounds, ratios, ratiosByCpu, type Sample } from "./rounds.ts";
import { sample } from "./sample.ts";
import { type ScanSystem, type ScanSystems, type SystemName, startScanSystems } from "./scan-systems.ts";
import { pidOf } from "./services.ts";
import { median } from "./table.ts";
import type { Target } from "./targets.ts";

export interface ScanTargets {
  targets: Target[];
  /** What an empty server costs, by size of file. */
  emptyOf: Map<string, Costs>;
  /** The most of one core that the process took which sends the requests. */
  loadShare: number;
}

const KB = 1024;
const MB = 1024 * KB;
const CORES = cpus().length;
const SIZES: [label: string, bytes: number, compared: SystemName[]][] = [
  ["4 KB", 4 * KB, ["raw clamd", "Q", "peer", "P with clamd", "P alone", "empty", "least"]],
  ["100 KB", 100 * KB, ["raw clamd", "Q", "P with clamd", "empty", "least"]],
  ["1 MB", MB, ["raw clamd", "Q", "P with clamd", "empty", "least"]],
];
/** Of raw clamd, by size. */
const WANTED_OF_RAW: Readonly<Record<string, number>> = { "4 KB": 0.65, "100 KB": 0.9, "1 MB": 0.93 };

export async function scanTargets({ folder, clamd, pace }: BenchOptions): Promise<ScanTargets> {
  await using systems = await startScanSystems(folder, clamd.socketPath);
  const measure = (names: readonly SystemName[], bytes: number, connections: number): Promise<Rounds> => {
    const file = sample(bytes);
    const { rounds, forMs } = scansAt(pace, bytes);
    const work = (system: ScanSystem) => system.scan(file, { connections, forMs });
    return alternate(systems.named(...names), { rounds, clamdPid: clamd.pid, work });
  };
  // Not measured: code and connections get warm.
  for (const { scan } of systems.named("raw clamd", "Q", "peer", "P with clamd", "P alone", "empty", "least"))
    await scan(sample(4 * KB), { connections: 16, forMs: pace.warmUpMs });

  const lone = await measure(["Q", "P with clamd", "P alone", "empty"], 4 * KB, 1);
  const bySize = new Map<string, Rounds>();
  for (const [label, bytes, names] of SIZES) bySize.set(label, await measure(names, bytes, 16));
  const rounds = (label: string): Rounds => bySize.get(label) ?? new Map();
  const memory = await memoryTargets(systems, pace);

  const atLeast = (label: string, pair: [SystemName, SystemName], least: number, ceiling?: number): Target => ({
    work: `${pair[0]}, ${label}, 16 clients`,
    values: ratios(rounds(label), pair, "perSecond"),
    want: { least },
    unit: `of ${pair[1]}`,
    byCpu: median(ratiosByCpu(rounds(label), pair)),
    ceiling,
  });
  const ceiling = (label: string, other: SystemName): number =>
    median(ratios(rounds(label), ["least", other], "perSecond"));
  const most = (name: SystemName): number => mostPerSecond(costsOf(rounds("4 KB"), name), CORES);
  const targets: Target[] = [
    {
      work: "P with clamd, 4 KB, 1 client: p50",
      values: ratios(lone, ["P with clamd", "Q"], "p50"),
      want: { most: 1.5 },
      unit: "× Q",
    },
    ...SIZES.map(([label]) => atLeast(label, ["P with clamd", "Q"], 0.85)),
    atLeast("4 KB", ["P alone", "Q"], 1.3, most("empty") / most("Q")),
    {
      work: "P alone, 4 KB, 1 client: p50",
      values: (lone.get("P alone") ?? []).map(({ p50 }) => p50),
      want: { most: 1 },
      unit: "ms",
      ceiling: median((lone.get("empty") ?? []).map(({ p50 }) => p50)),
    },
    ...SIZES.map(([label]) =>
      atLeast(label, ["Q", "raw clamd"], WANTED_OF_RAW[label] ?? 1, ceiling(label, "raw clamd")),
    ),
    atLeast("4 KB", ["Q", "peer"], 1.7, ceiling("4 KB", "peer")),
    ...memory,
  ];
  return {
    targets,
    emptyOf: new Map(SIZES.map(([label]) => [label, costsOf(rounds(label), "empty")])),
    loadShare: Math.max(...[...bySize.values()].flatMap(loadShares)),
  };
}

async function memoryTargets(systems: ScanSystems, { uploadMb }: Pace): Promise<Target[]> {
  const large = sample(uploadMb * MB);
  const peaks = new Map<string, number>();
  for (const { name, measured, scan } of systems.named("Q", "P with clamd", "P alone", "empty")) {
    await scan(large, { connections: 16, forMs: 0 });
    peaks.set(name, peakMb(pidOf(measured)));
  }
  return ["Q", "P with clamd", "P alone"].map((name) => ({
    work: `peak RSS of ${name}, after 16 × ${uploadMb} MB at once`,
    values: [peaks.get(name) ?? Number.NaN],
    want: { most: name === "Q" ? 150 : 350 },
    unit: "MB",
    ceiling: peaks.get("empty"),
  }));
}

/** Of one core, in each measurement. */
function loadShares(rounds: Rounds): number[] {
  const share = ({ loadMs, perSecond }: Sample): number => (loadMs * perSecond) / 1000;
  return [...rounds].filter(([name]) => name !== "empty").flatMap(([, samples]) => samples.map(share));
}
