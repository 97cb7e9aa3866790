import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownClamd } from "../packages/server/src/engines/clamd/own-clamd.ts";
import { type BenchOptions, scansAt } from "./arguments.ts";
import { type Costs, ceilingOfHalf, digestMs } from "./ceilings.ts";
import { type LoadResult, run } from "./load.ts";
import { alternate, type Contestant, costsOf, middle, type Rounds, ratios, ratiosByCpu } from "./rounds.ts";
import { halfSeen, SEEN_FILES, sample } from "./sample.ts";
import { binary, pidOf, type ServiceOptions, startService } from "./services.ts";
import { head, median, rate, row } from "./table.ts";
import type { Target } from "./targets.ts";

const KB = 1024;
const SEEN_SIZES: [label: string, bytes: number][] = [
  ["4 KB", 4 * KB],
  ["100 KB", 100 * KB],
  ["1 MB", 1024 * KB],
];
const ENTRIES = 50_000;
const CONNECTIONS = 16;

interface SeenSystem extends Contestant {
  /** Sends files of one size, going on with the numbers where it stopped, so that what is new stays new. */
  scan(bytes: number, limit: { forMs: number; atMost?: number }): Promise<LoadResult>;
}

/** What the verdict cache brings where half of the files were seen before, beside a clamd with a cache of its own. */
export async function measureSeen(options: BenchOptions): Promise<void> {
  await using caching = await ownClamd({
    folder: join(options.folder, "caching-clamd"),
    signaturesDir: fileURLToPath(new URL("../packages/server/signatures", import.meta.url)),
    config: { MaxThreads: "16" },
  });
  const withCachingClamd = { "P with a clamd that caches": `unix:${caching.socketPath}` };
  console.log("\nHalf of the files were seen before; 16 at once.\n");
  console.log(head("file", "", "scans/s", "p50 ms", "CPU ms/scan", "of no cache"));
  const measured = await seenRounds(options, withCachingClamd);
  for (const [label, rounds] of measured) {
    for (const name of rounds.keys()) {
      const cells = [rate(middle(rounds, name, "perSecond")), middle(rounds, name, "p50").toFixed(1)];
      const ratio = median(ratios(rounds, [name, withoutCache(name)], "perSecond"));
      console.log(row(label, name, ...cells, middle(rounds, name, "cpuMs").toFixed(2), ratio.toFixed(2)));
    }
  }
}

/** Rounds by size. Systems are called "P alone", "P alone, cached" and so on. */
async function seenRounds(
  { folder, clamd, pace }: BenchOptions,
  more: Record<string, string> = {},
): Promise<Map<string, Rounds>> {
  const addresses = { "P alone": "none", "P with clamd": `unix:${clamd.socketPath}`, ...more };
  const running: { system: SeenSystem; stop(): Promise<void> }[] = [];
  try {
    for (const [name, clamdAddress] of Object.entries(addresses)) {
      for (const cached of name in more ? [0] : [0, ENTRIES]) {
        const called = cached > 0 ? `${name}, cached` : name;
        const dataDir = join(folder, `seen-${called.replaceAll(/\W+/g, "-")}`);
        running.push(await startSystem(called, { engine: "P", clamdAddress, dataDir, cached }));
      }
    }
    const systems = running.map(({ system }) => system);
    const measured = new Map<string, Rounds>();
    // Nor is this: code gets warm.
    for (const { scan } of systems) await scan(4 * KB, { forMs: pace.warmUpMs });
    for (const [label, bytes] of SEEN_SIZES) {
      // Not measured: now half of the files have been seen.
      for (const { scan } of systems) await scan(bytes, { forMs: Number.POSITIVE_INFINITY, atMost: SEEN_FILES });
      const { rounds, forMs } = scansAt(pace, bytes);
      const work = (system: SeenSystem): Promise<LoadResult> => system.scan(bytes, { forMs });
      measured.set(label, await alternate(systems, { rounds, clamdPid: clamd.pid, work }));
    }
    return measured;
  } finally {
    for (const { stop } of running) await stop();
  }
}

function withoutCache(name: string): string {
  return name.startsWith("P alone") ? "P alone" : "P with clamd";
}

async function startSystem(
  name: string,
  options: ServiceOptions,
): Promise<{ system: SeenSystem; stop(): Promise<void> }> {
  const { measured, port } = await startService(options);
  const sent = new Map<number, number>();
  const scan: SeenSystem["scan"] = async (bytes, limit) => {
    const before = sent.get(bytes) ?? 0;
    const fileAt = halfSeen(bytes);
    const body = (index: number): readonly Uint8Array[] => fileAt(before + index);
    const load = binary(port, { body, connections: CONNECTIONS, forMs: limit.forMs });
    const result = await run({ ...load, ...(limit.atMost !== undefined && { atMost: limit.atMost }) });
    sent.set(bytes, before + result.requests);
    return result;
  };
  return { system: { name, pids: [pidOf(measured)], scan }, stop: () => measured.stop() };
}

/** `emptyOf` is what an empty server costs, by size of file. */
export async function seenTargets(options: BenchOptions, emptyOf: ReadonlyMap<string, Costs>): Promise<Target[]> {
  const measured = await seenRounds(options);
  return ["P alone", "P with clamd"].flatMap((name) =>
    SEEN_SIZES.map(([label, bytes]): Target => {
      const rounds = measured.get(label) ?? new Map();
      const pair = [`${name}, cached`, name] as const;
      const empty = emptyOf.get(label);
      return {
        work: `half seen before, ${name}, ${label}`,
        values: ratios(rounds, pair, "perSecond"),
        want: { least: 1.5 },
        unit: "of no cache",
        byCpu: median(ratiosByCpu(rounds, pair)),
        ceiling:
          empty && ceilingOfHalf(costsOf(rounds, name), { empty, digestMs: digestMs(sample(bytes)) }, cpus().length),
      };
    }),
  );
}
