import { statSync } from "node:fs";
import type { NetConnectOpts } from "node:net";

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

export function describeAddress(address: ClamdAddress): string {
  return address.kind === "unix" ? `unix:${address.path}` : `tcp://${address.host}:${address.port}`;
}

/** What `auto` means: the first usual socket that exists. */
export function findClamd(paths: readonly string[] = USUAL_SOCKETS): ClamdAddress | undefined {
  const path = paths.find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isSocket());
  return path ? { kind: "unix", path } : undefined;
}

/** So much may wait to be sent before the source is asked to wait; less costs a turn of the event loop for each chunk. */
const WRITE_AHEAD_BYTES = 256 * 1024;

/** TCP without noDelay collapses to a hundredth of the throughput. */
export function connectOptions(address: ClamdAddress): NetConnectOpts {
  const ahead = { writableHighWaterMark: WRITE_AHEAD_BYTES };
  if (address.kind === "unix") return { path: address.path, ...ahead };
  return { host: address.host, port: address.port, noDelay: true, ...ahead };
}
