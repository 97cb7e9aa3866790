import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { cpuSeconds } from "./processes.ts";

/** How busy the machine was with other things: what this run should be believed. */
export interface Noise {
  /** Share of all cores, from 0 to 1, that processes other than those of the benchmark took since the start. */
  share(): number;
}

/** The benchmark's own processes are this one and all that it starts. */
export function watchNoise(): Noise {
  const before = { ...machineTicks(), own: cpuSeconds(process.pid) };
  return {
    share() {
      const { busy, all } = machineTicks();
      const ownTicks = (cpuSeconds(process.pid) - before.own) * 100;
      return Math.max(0, (busy - before.busy - ownTicks) / (all - before.all));
    },
  };
}

function machineTicks(): { busy: number; all: number } {
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = readFileSync(
    "/proc/stat",
    "utf8",
  )
    .slice("cpu ".length, 200)
    .trim()
    .split(/\s+/)
    .map(Number);
  const busy = user + nice + system + irq + softirq + steal;
  return { busy, all: busy + idle + iowait };
}

/** In words, for under a table. */
export function shareInWords(share: number): string {
  return `Other processes took ${(share * 100).toFixed(0)} % of the machine's ${cpus().length} cores meanwhile.`;
}
