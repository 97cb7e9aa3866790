import { join } from "node:path";
import { damagedLogNotice, damagedLogs } from "../../platforms/embedded/sqlite/damaged-log.ts";
import { type DatabaseSize, databaseSize } from "../../platforms/embedded/sqlite/database-size.ts";
import { DatabaseUnavailable } from "../../platforms/embedded/sqlite/database-unavailable.ts";
import { inBytes } from "../terminal/output.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const MIB = 1024 * 1024;
const MUCH_FREE = 64 * MIB;
/** Several times what it is cut back to. */
const LARGE_LOG = 128 * MIB;

/** How large the job database is, what is in it, and how much of it is waste. */
export function databaseChecks(dataDir: string): Check[] {
  const path = join(dataDir, "jobs.db");
  try {
    const size = databaseSize(path);
    const damaged = damagedLogs(path).map((copy) => {
      const { error, hint } = damagedLogNotice(copy);
      return fail("database", error, hint);
    });
    return size ? [sizeCheck(path, size), ...damaged] : damaged;
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return [fail("database", error.message, error.hint)];
    throw error;
  }
}

/** @internal a test says how large it is */
export function sizeCheck(path: string, size: DatabaseSize): Check {
  const { bytes, freeBytes, logBytes, rows } = size;
  const kept = Object.entries(rows).map(([name, count]) => `${count} ${name.replace("_", " ")}`);
  const detail = `${inBytes(bytes)}, ${inBytes(freeBytes)} of it free, log of changes ${inBytes(logBytes)}: ${kept.join(", ")}`;
  const figures = { bytes, free_bytes: freeBytes, log_bytes: logBytes, ...rows };
  return { ...judged(path, size, detail), figures };
}

function judged(path: string, { bytes, freeBytes, logBytes, givesBack }: DatabaseSize, detail: string): Check {
  if (freeBytes > MUCH_FREE && freeBytes > bytes / 2) {
    const compact = "stop lazaret, then lazaret jobs compact";
    const fix = givesBack
      ? `workers give it back little by little while they run; to have it at once ${compact}`
      : `an earlier lazaret made it, and it does not shrink by itself until it is rewritten once: ${compact}`;
    return warn("database", detail, fix);
  }
  if (logBytes > LARGE_LOG) {
    const fix = `a process reads for long: fuser ${path} shows who has it open; it is cut when that one is done`;
    return warn("database", detail, fix);
  }
  return ok("database", detail);
}
