/** CPU that one request costs, in milliseconds. */
export interface Costs {
  /** Of the service, or of the client that asks clamd itself. */
  cpuMs: number;
  clamdMs: number;
  /** Of the process that sends the requests and, with jobs, serves the files and takes the callbacks. */
  loadMs: number;
}

/** What was measured of one size of file, in the same run. */
export interface MeasuredCosts {
  /** Our clamd client without HTTP. */
  raw: Costs;
  /** A node:http server that reads the body, throws it away and answers. */
  empty: Costs;
}

/**
 * What scans per second the cores allow at most: all of them share the work, and the process that sends the requests
 * has one thread. That all cores are always busy is more than any service reaches.
 */
export function mostPerSecond({ cpuMs, clamdMs, loadMs }: Costs, cores: number): number {
  return Math.min((cores * 1000) / (cpuMs + clamdMs + loadMs), 1000 / loadMs);
}

/** What a service behind node:http cannot do without: reading and answering, asking clamd, and what clamd does. */
function leastScan({ raw, empty }: MeasuredCosts): Costs {
  return { cpuMs: empty.cpuMs + raw.cpuMs, clamdMs: raw.clamdMs, loadMs: empty.loadMs };
}

/** The best ratio of a service with clamd to another, which may be clamd alone. */
export function ceilingOf(measured: MeasuredCosts, other: Costs, cores: number): number {
  return mostPerSecond(leastScan(measured), cores) / mostPerSecond(other, cores);
}

/** The best that a cache can bring where it answers for half of the files: those cost what an empty server does. */
export function ceilingOfHalf(without: Costs, empty: Costs, cores: number): number {
  const half = (of: keyof Costs): number => (without[of] + empty[of]) / 2;
  const cached = { cpuMs: half("cpuMs"), clamdMs: half("clamdMs"), loadMs: half("loadMs") };
  return mostPerSecond(cached, cores) / mostPerSecond(without, cores);
}
