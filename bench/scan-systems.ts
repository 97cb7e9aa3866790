import { type LoadResult, run } from "./load.ts";
import type { Measured } from "./processes.ts";
import type { Contestant } from "./rounds.ts";
import {
  askRaw,
  binary,
  form,
  pidOf,
  type Service,
  startFloor,
  startProgram,
  startRaw,
  startServices,
} from "./services.ts";

/** Something that scans, or only looks as if: a way to send it a file. */
export interface ScanSystem extends Contestant {
  measured: Measured;
  scan(file: Buffer, options: { connections: number; forMs: number }): Promise<LoadResult>;
}

export type SystemName = "raw clamd" | "Q" | "peer" | "P with clamd" | "P alone" | "empty" | "least";

export interface ScanSystems extends AsyncDisposable {
  named(...names: readonly SystemName[]): ScanSystem[];
}

/**
 * One clamd, several ways to it; a server that has none, and answers at once; and the least that searches files and asks clamd (floor.ts).
 */
export async function startScanSystems(folder: string, clamdSocket: string): Promise<ScanSystems> {
  const address = `unix:${clamdSocket}`;
  const raw = startRaw(address);
  const peer = await startProgram("peer.mjs", [clamdSocket]);
  const empty = await startFloor("scan");
  const least = await startFloor("search", address);
  const services = await startServices(folder, address);

  const system = (measured: Measured, scan: ScanSystem["scan"]): Omit<ScanSystem, "name"> => ({
    measured,
    pids: [pidOf(measured)],
    scan,
  });
  const upload = ({ measured, port }: Service): Omit<ScanSystem, "name"> =>
    system(measured, (file, options) => run(binary(port, { body: [file], ...options })));
  const all: Record<SystemName, Omit<ScanSystem, "name">> = {
    "raw clamd": system(raw, (file, options) => askRaw(raw, { bytes: file.length, ...options })),
    Q: upload(services.Q),
    peer: system(peer.measured, (file, options) => run(form(peer.port, file, options))),
    "P with clamd": upload(services["P with clamd"]),
    "P alone": upload(services["P alone"]),
    empty: upload(empty),
    least: upload(least),
  };
  return {
    named: (...names) => names.map((name) => ({ name, ...all[name] })),
    async [Symbol.asyncDispose]() {
      raw.child.stdin?.end();
      const programs = [peer, empty, least, ...Object.values(services)];
      await Promise.all(programs.map(({ measured }) => measured.stop()));
    },
  };
}
