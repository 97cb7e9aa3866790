import { readFileSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ClamdAddress } from "./address.ts";

/** clamd's configuration: what is not written there has clamd's own default. */
export interface ClamdConf {
  path: string;
  number(name: keyof typeof defaults): number;
  says(name: keyof typeof switches): boolean;
  /** Where it keeps streams and what it unpacks. An environment of clamd's own with another TMPDIR cannot be seen. */
  readonly temporaryDir: string;
  /** Where its signatures are, if that is written there, and once. */
  readonly databaseDir: string | undefined;
}

const MIB = 1024 * 1024;
/** Of ClamAV 1.4. */
const defaults = {
  StreamMaxLength: 100 * MIB,
  MaxFileSize: 100 * MIB,
  MaxScanSize: 400 * MIB,
  MaxScanTime: 120_000,
  MaxThreads: 10,
  MaxQueue: 100,
  MaxRecursion: 17,
};
const switches = {
  AlertExceedsMax: false,
  AlertEncrypted: false,
  DisableCache: false,
  ConcurrentDatabaseReload: true,
  Foreground: false,
};

/** Debian and Alpine, Fedora, others, Homebrew. */
const USUAL_FILES = [
  "/etc/clamav/clamd.conf",
  "/etc/clamd.d/scan.conf",
  "/etc/clamd.conf",
  "/opt/homebrew/etc/clamav/clamd.conf",
  "/usr/local/etc/clamav/clamd.conf",
];

/** The file of the clamd that listens at this address: beside its socket, or in one of the usual places. */
export function findClamdConf(given: ClamdAddress, usual: readonly string[] = USUAL_FILES): ClamdConf | undefined {
  const address = withoutLink(given);
  const besideSocket = address.kind === "unix" ? [join(dirname(address.path), "clamd.conf")] : [];
  for (const path of [...besideSocket, ...usual]) {
    const lines = readLines(path);
    if (lines && listensAt(lines, address)) return clamdConf(path, lines);
  }
  return undefined;
}

/** A clamd of our own is behind a link, and has its configuration beside its own socket. */
function withoutLink(address: ClamdAddress): ClamdAddress {
  if (address.kind !== "unix") return address;
  try {
    readlinkSync(address.path);
    return { kind: "unix", path: realpathSync(address.path) };
  } catch {
    return address;
  }
}

/** Undefined when the file cannot be read. */
export function readClamdConf(path: string): ClamdConf | undefined {
  const lines = readLines(path);
  return lines && clamdConf(path, lines);
}

function clamdConf(path: string, lines: ReadonlyMap<string, string>): ClamdConf {
  return {
    path,
    number(name) {
      const value = lines.get(name);
      return value === undefined ? defaults[name] : inUnits(value);
    },
    says(name) {
      const value = lines.get(name);
      return value === undefined ? switches[name] : /^(?:yes|true|1)$/i.test(value);
    },
    temporaryDir: lines.get("TemporaryDirectory") ?? "/tmp",
    databaseDir: lines.get("DatabaseDirectory"),
  };
}

function readLines(path: string): Map<string, string> | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  const lines = text.split("\n").map((line) => /^\s*([A-Za-z]\w*)\s+(.*?)\s*$/.exec(line));
  const found = lines.flatMap((match) => (match?.[1] ? [[match[1], match[2] ?? ""] as const] : []));
  const folders = found.filter(([name]) => name === "DatabaseDirectory");
  // Which of two clamd takes is its own business.
  return new Map(folders.length === 1 ? found : found.filter(([name]) => name !== "DatabaseDirectory"));
}

function listensAt(lines: ReadonlyMap<string, string>, address: ClamdAddress): boolean {
  if (address.kind === "unix") return inRun(lines.get("LocalSocket")) === inRun(address.path);
  return lines.get("TCPSocket") === String(address.port);
}

/** Debian writes /var/run, which has been a link to /run for long. */
function inRun(path: string | undefined): string | undefined {
  return path?.replace(/^\/var\/run\//, "/run/");
}

/** `2000M`; 0 is no limit. */
function inUnits(value: string): number {
  const [, number = "0", unit = ""] = /^(\d+)([kKmMgG]?)/.exec(value) ?? [];
  const bytes = Number(number) * ({ k: 1024, m: MIB, g: 1024 * MIB }[unit.toLowerCase()] ?? 1);
  return bytes === 0 ? Number.POSITIVE_INFINITY : bytes;
}
