import { join } from "node:path";
import type { BenchOptions } from "./arguments.ts";
import { type LoadResult, run } from "./load.ts";
import { alternate, type Contestant, middle, ratioByCpu, ratios } from "./rounds.ts";
import { sample } from "./sample.ts";
import { formUpload, type Service, startLazaret, startPeer, startRawClamd, upload } from "./services.ts";
import type { Target } from "./targets.ts";

const KB = 1024;
const MB = 1024 * KB;
const CLIENTS = 16;
const WARM_UP_MS = 4000;
/** Many short rounds for files below 1 MB, as the time that clamd takes for a file on a disk changes within seconds. */
const SMALL = { rounds: 15, forMs: 250 };
const LARGE = { rounds: 5, forMs: 700 };
const SIZES: [label: string, bytes: number, pace: typeof SMALL, leastOfRaw: number][] = [
  ["4 KB", 4 * KB, SMALL, 0.55],
  ["100 KB", 100 * KB, SMALL, 0.8],
  ["1 MB", MB, LARGE, 0.88],
];
/** The size of file that the target of P alone is about. */
const CORES = 2;
const UPLOAD_MB = 100;
const MOST_MB = { Q: 400, P: 500 };

interface Scanner extends Contestant {
  scan(file: Buffer, forMs: number): Promise<LoadResult>;
}

/** Starts the set-ups of Lazaret, with the limit raised to the 16 at once that are measured. */
export async function startEngines(
  folder: string,
  clamdAddress: string,
): Promise<Record<"Q" | "P" | "alone", Service>> {
  const one = (name: string, engine: "P" | "Q", clamd: string): Promise<Service> =>
    startLazaret(name, {
      LAZARET_ENGINE: engine,
      LAZARET_CLAMD: clamd,
      LAZARET_DATA_DIR: join(folder, `data-${name.replaceAll(" ", "-")}`),
      LAZARET_CONCURRENCY: String(CLIENTS),
    });
  return {
    Q: await one("Q", "Q", clamdAddress),
    P: await one("P with clamd", "P", clamdAddress),
    alone: await one("P alone", "P", "none"),
  };
}

/** Measures uploads through one clamd in several ways, P without clamd, and the memory that large uploads take. */
export async function measureScans({ folder, clamd }: BenchOptions): Promise<Target[]> {
  const address = `unix:${clamd.socketPath}`;
  const raw = startRawClamd(address);
  const peer = await startPeer("peer", ["peer.mjs", clamd.socketPath]);
  const engines = await startEngines(folder, address);
  const lazaret = (service: Service): Scanner => ({
    ...service,
    scan: (file, forMs) => run(upload(service.port, { body: [file], connections: CLIENTS, forMs })),
  });
  const scanners: Scanner[] = [
    { ...raw, scan: (file, forMs) => raw.ask({ bytes: file.length, connections: CLIENTS, forMs }) },
    { ...peer, scan: (file, forMs) => run(formUpload(peer.port, file, { connections: CLIENTS, forMs })) },
    lazaret(engines.Q),
  ];
  const alone = lazaret(engines.alone);
  try {
    // Not measured: code and connections get warm.
    for (const { scan } of [...scanners, alone]) await scan(sample(4 * KB), WARM_UP_MS);
    const ofRaw: Target[] = [];
    const ofPeer: Target[] = [];
    for (const [label, bytes, { rounds: count, forMs }, leastOfRaw] of SIZES) {
      const work = ({ scan }: Scanner) => scan(sample(bytes), forMs);
      const rounds = await alternate(scanners, { rounds: count, clamdPid: clamd.pid, work });
      const against = (name: string, least: number): Target => ({
        work: `Q, ${label}, ${CLIENTS} clients`,
        values: ratios(rounds, "Q", name),
        want: { least },
        unit: `of ${name}`,
        byCpu: ratioByCpu(rounds, "Q", name),
      });
      ofRaw.push(against("raw clamd", leastOfRaw));
      ofPeer.push(against("peer", 1));
    }
    const noise = sample(MB);
    const rounds = await alternate([alone], { rounds: LARGE.rounds, work: ({ scan }) => scan(noise, LARGE.forMs) });
    const speed: Target = {
      work: "P alone, 1 MB of noise, 16 clients",
      values: (rounds.get("P alone") ?? []).map(({ perSecond }) => (perSecond * MB) / 1e6),
      want: { least: 200 },
      unit: "MB/s",
      byCpu: (CORES * MB) / 1e3 / middle(rounds, "P alone", "cpuMs"),
    };
    const memory: Target[] = [];
    for (const name of ["Q", "P"] as const) {
      const load = upload(engines[name].port, { body: [sample(UPLOAD_MB * MB)], connections: CLIENTS, forMs: 0 });
      // On a machine that others keep busy, 60 s are not enough for all: they have taken their memory by then.
      await run({ ...load, answer: { text: "" } });
      memory.push({
        work: `peak memory of ${engines[name].name}, ${CLIENTS} × ${UPLOAD_MB} MB at once`,
        values: [engines[name].peakMb()],
        want: { most: MOST_MB[name] },
        unit: "MB",
      });
    }
    return [...ofRaw, ...ofPeer, speed, ...memory];
  } finally {
    raw.stop();
    for (const service of [peer, ...Object.values(engines)]) await service.stop();
  }
}
