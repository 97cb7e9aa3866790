import { readFileSync, type Stats, statSync } from "node:fs";
import type { NetConnectOpts } from "node:net";
import { dirname, join } from "node:path";

/** Where clamd listens, as in LAZARET_CLAMD: `unix:/path` or `tcp://host:port`. */
export type ClamdAddress = { kind: "unix"; path: string } | { kind: "tcp"; host: string; port: number };

/** Where Debian, Fedora, Alpine, Homebrew and the container image put the socket. */
const USUAL_SOCKETS = [
  "/run/clamav/clamd.ctl",
  "/var/run/clamav/clamd.ctl",
  "/run/clamd.scan/clamd.sock",
  "/run/clamav/clamd.sock",
  "/tmp/clamd.sock",
  "/opt/homebrew/var/run/clamav/clamd.sock",
  "/usr/local/var/run/clamav/clamd.sock",
];

/** Undefined when the text is neither form. */
export function parseClamdAddress(text: string): ClamdAddress | undefined {
  const unix = /^unix:(\/.+)$/.exec(text);
  if (unix?.[1]) return { kind: "unix", path: unix[1] };
  const tcp = /^tcp:\/\/(\[[0-9a-fA-F:.]+\]|[^/:@\s]+):(\d{1,5})\/?$/.exec(text);
  if (!tcp?.[1] || !tcp[2]) return undefined;
  const port = Number(tcp[2]);
  if (port < 1 || port > 65_535) return undefined;
  return { kind: "tcp", host: tcp[1].replace(/^\[|\]$/g, ""), port };
}

/** Where the clamd of these settings is now, if there is one. */
export function configuredClamd(
  { clamd, dataDir }: { clamd: string; dataDir: string },
  usual?: readonly string[],
): ClamdAddress | undefined {
  if (clamd === "auto") return findClamd(usual);
  return clamd === "own" ? ownAddress(dataDir) : parseClamdAddress(clamd);
}

/** A link to the socket of the clamd that a service with this data folder keeps. */
export function ownAddress(dataDir: string): ClamdAddress & { kind: "unix" } {
  return { kind: "unix", path: join(dataDir, "clamd", "clamd.sock") };
}

export function describeAddress(address: ClamdAddress): string {
  return address.kind === "unix" ? `unix:${address.path}` : `tcp://${address.host}:${address.port}`;
}

/** What `auto` means: the first usual socket that exists and that clamd can have made. */
export function findClamd(paths: readonly string[] = USUAL_SOCKETS): ClamdAddress | undefined {
  const path = paths.find(isClamdSocket);
  return path ? { kind: "unix", path } : undefined;
}

function isClamdSocket(path: string): boolean {
  try {
    const socket = statSync(path, { throwIfNoEntry: false });
    return socket?.isSocket() === true && isTrusted(socket, statSync(dirname(path)));
  } catch (error) {
    // Not ours to look at, but somebody's: connecting will say so, which is better than to do without clamd in silence.
    return error instanceof Error && "code" in error && error.code === "EACCES";
  }
}

const WRITABLE_BY_ALL = 0o002;
/** Of Debian, Fedora and macOS. */
const CLAMD_USERS = /^(?:clamav|clamscan|_clamav):[^:]*:(\d+):/gm;

/**
 * In a folder such as /tmp anybody could put a socket, and would get a copy of every file that is scanned.
 * @internal tested by table: a test cannot make sockets of other users
 */
export function isTrusted(
  socket: Pick<Stats, "uid">,
  folder: Pick<Stats, "mode">,
  passwd: () => string = () => readFileSync("/etc/passwd", "utf8"),
): boolean {
  if (!(folder.mode & WRITABLE_BY_ALL)) return true;
  if (socket.uid === 0 || socket.uid === process.getuid?.()) return true;
  return [...passwd().matchAll(CLAMD_USERS)].some(([, uid]) => Number(uid) === socket.uid);
}

/** So much may wait to be sent before the source is asked to wait; less costs a turn of the event loop for each chunk. */
const WRITE_AHEAD_BYTES = 256 * 1024;

/** TCP without noDelay collapses to a hundredth of the throughput. */
export function connectOptions(address: ClamdAddress): NetConnectOpts {
  const ahead = { writableHighWaterMark: WRITE_AHEAD_BYTES };
  if (address.kind === "unix") return { path: address.path, ...ahead };
  return { host: address.host, port: address.port, noDelay: true, ...ahead };
}
