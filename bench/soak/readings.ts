import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { openFiles, rssMb } from "../processes.ts";
import type { Bound, Point } from "./drift.ts";

/** Readings of the service as a whole: of its process and its data folder. */
export interface Reading {
  seconds: number;
  rssMb: number;
  handles: number;
  files: number;
  databaseMb: number;
  /** None when no small file was done meanwhile. */
  p99: number | undefined;
  clamdMb: number;
  idle: number;
  done: number;
  refused: number;
}

export interface Watched {
  title: string;
  unit: string;
  bound: Bound;
  of(reading: Reading): number | undefined;
}

/**
 * What must not drift. The bounds lie above the noise of short runs on a busy machine; what leaks with every request, or every
 * hundredth, is far above them after half an hour.
 */
export const WATCHED: readonly Watched[] = [
  // Garbage is collected when there is time, and memory given back late.
  { title: "memory", unit: "MB", bound: { share: 0.1, atLeast: 40 }, of: ({ rssMb }) => rssMb },
  // Connections of requests under way come and go.
  { title: "handles", unit: "", bound: { share: 0.05, atLeast: 25 }, of: ({ handles }) => handles },
  { title: "files", unit: "", bound: { share: 0.1, atLeast: 20 }, of: ({ files }) => files },
  // The write-ahead log is a part of it, and may come to its 4 MB late.
  { title: "database", unit: "MB", bound: { share: 0.1, atLeast: 6 }, of: ({ databaseMb }) => databaseMb },
  // What else the machine does shows here first.
  { title: "p99", unit: "ms", bound: { share: 1, atLeast: 50 }, of: ({ p99 }) => p99 },
];

export function pointsOf({ of }: Watched, readings: readonly Reading[]): Point[] {
  return readings.flatMap((reading) => {
    const value = of(reading);
    return value === undefined ? [] : [{ seconds: reading.seconds, value }];
  });
}

export interface Places {
  pid: number;
  clamdPid: number;
  dataDir: string;
  /** Other folders that must not fill up. */
  temporaryDirs: readonly string[];
}

type Measures = Pick<Reading, "rssMb" | "handles" | "files" | "databaseMb" | "clamdMb">;

export function measure({ pid, clamdPid, dataDir, temporaryDirs }: Places): Measures {
  const kept = filesIn(dataDir);
  const databases = kept.filter((path) => /\.db(-wal)?$/.test(path));
  return {
    rssMb: rssMb(pid),
    clamdMb: rssMb(clamdPid),
    handles: openFiles(pid),
    files: kept.length + temporaryDirs.reduce((sum, folder) => sum + filesIn(folder).length, 0),
    databaseMb: databases.reduce((sum, path) => sum + sizeOf(path), 0) / 1e6,
  };
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesIn(path) : [path];
    });
  } catch {
    // It went while it was read.
    return [];
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
