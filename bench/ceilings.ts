import { contentOf, hasDigestInstructions } from "../packages/server/src/scan/verdict-cache.ts";

/** CPU that one request costs, in milliseconds. */
export interface Costs {
  /** Of the service, or of the client that asks clamd itself. */
  cpuMs: number;
  clamdMs: number;
  /** Of the process that sends the requests and, with jobs, serves the files and takes the callbacks. */
  loadMs: number;
}

/**
 * What scans per second the cores allow at most: all of them share the work, and the process that sends the requests
 * has one thread. That all cores are always busy is more than any service reaches.
 */
export function mostPerSecond({ cpuMs, clamdMs, loadMs }: Costs, cores: number): number {
  return Math.min((cores * 1000) / (cpuMs + clamdMs + loadMs), 1000 / loadMs);
}

/**
 * The best that a cache can bring where it answers for half of the files: those cost what an empty server does, and all of them a digest, by which
 * they are known.
 */
export function ceilingOfHalf(
  without: Costs,
  { empty, digestMs }: { empty: Costs; digestMs: number },
  cores: number,
): number {
  const half = (of: keyof Costs): number => (without[of] + empty[of]) / 2;
  const cached = { cpuMs: half("cpuMs") + digestMs, clamdMs: half("clamdMs"), loadMs: half("loadMs") };
  return mostPerSecond(cached, cores) / mostPerSecond(without, cores);
}

/** What is left of a rate when each takes so many seconds more. */
export function ceilingWith(perSecond: number, moreSeconds: number): number {
  return 1 / (1 + perSecond * Math.max(0, moreSeconds));
}

const DIGESTS = 100;

/** What the digest by which a content is known costs here. */
export function digestMs(content: Uint8Array): number {
  const digestsAreDear = !hasDigestInstructions();
  const digest = (): void => void contentOf(content, digestsAreDear);
  digest();
  const { user, system } = process.cpuUsage();
  for (let count = 0; count < DIGESTS; count += 1) digest();
  const spent = process.cpuUsage({ user, system });
  return (spent.user + spent.system) / 1000 / DIGESTS;
}
