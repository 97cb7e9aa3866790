import { parseArgs } from "node:util";

export const PARTS = ["scans", "jobs", "mix"] as const;
type Part = (typeof PARTS)[number];

export interface Arguments {
  parts: readonly Part[];
  /** Of clamd; a small folder of ours if none is named. */
  signaturesDir?: string;
}

/** What every part of the bench is given. */
export interface BenchOptions {
  /** On a disk: what is synced in memory costs nothing. */
  folder: string;
  clamd: { socketPath: string; pid: number };
}

/** Returns a sentence when they make no sense. The mix has no target, and is measured when it is asked for. */
export function parseArguments(args: readonly string[]): Arguments | string {
  try {
    const options = { only: { type: "string" }, signatures: { type: "string" } } as const;
    const { only, signatures } = parseArgs({ args: [...args], options }).values;
    const part = PARTS.find((each) => each === only);
    if (only !== undefined && !part) return `there is no benchmark ${only}`;
    const parts = part ? [part] : (["scans", "jobs"] as const);
    return { parts, ...(signatures !== undefined && { signaturesDir: signatures }) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
