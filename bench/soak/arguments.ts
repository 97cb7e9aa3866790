import { parseArgs } from "node:util";

const LEAKS = ["memory", "handles", "files", "database", "time"] as const;
export type Leak = (typeof LEAKS)[number];

export interface SoakArguments {
  minutes: number;
  /** Of the capacity. */
  share: number;
  /** Requests a second, where the capacity is not to be measured. */
  rate: number | undefined;
  idle: number;
  engine: "P" | "Q";
  leak: Leak | undefined;
  /** By engine P alone, instead of traffic. */
  scans: number | undefined;
}

export const USAGE = `npm run soak -- [--minutes 30] [--share 0.7] [--rate N] [--idle 500] [--engine P|Q] [--leak ${LEAKS.join("|")}]
       npm run soak -- --scans 1000000`;

const options = {
  minutes: { type: "string", default: "30" },
  share: { type: "string", default: "0.7" },
  rate: { type: "string" },
  idle: { type: "string", default: "500" },
  engine: { type: "string", default: "P" },
  leak: { type: "string" },
  scans: { type: "string" },
} as const;

/** Answers a sentence when they make no sense. */
export function parseSoakArguments(args: readonly string[]): SoakArguments | string {
  try {
    const { values } = parseArgs({ args: [...args], options });
    const { engine } = values;
    const [minutes, share, idle] = [Number(values.minutes), Number(values.share), Number(values.idle)];
    const rate = values.rate === undefined ? undefined : Number(values.rate);
    const scans = values.scans === undefined ? undefined : Number(values.scans);
    const leak = LEAKS.find((each) => each === values.leak);
    if (!(minutes > 0)) return `--minutes must be above 0, and is ${values.minutes}`;
    if (!(share > 0 && share <= 1)) return `--share must be above 0 and at most 1, and is ${values.share}`;
    if (rate !== undefined && !(rate > 0)) return `--rate must be above 0, and is ${values.rate}`;
    if (!Number.isInteger(idle) || idle < 0) return `--idle must be a whole number, and is ${values.idle}`;
    if (scans !== undefined && !(scans >= 1000)) return `--scans must be at least 1000, and is ${values.scans}`;
    if (engine !== "P" && engine !== "Q") return `--engine must be P or Q, and is ${engine}`;
    if (values.leak !== undefined && !leak) return `--leak must be one of ${LEAKS.join(", ")}, and is ${values.leak}`;
    return { minutes, share, rate, idle, engine, leak, scans };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
