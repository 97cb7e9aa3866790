import { lookup as resolveName } from "node:dns/promises";
import { connect as connectSocket, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { buildConnector } from "undici";
import { timeLimit, unlessAborted } from "../flow/time-limit.ts";
import { type AddressGuard, portOf, withoutBrackets } from "./address-guard.ts";

/** Every address a name has now; an empty list, or an error with Node's code, when it has none. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** Connects to one of `addresses`, which have been checked, and to nothing else. `host` is not to be resolved again. */
export type Dial = (target: DialTarget, signal: AbortSignal) => Promise<Socket>;

export interface DialTarget {
  host: string;
  addresses: readonly string[];
  port: number;
}

export interface ConnectorOptions {
  guard: Pick<AddressGuard, "mayDial">;
  /** The system's resolver by default. */
  lookup?: Lookup;
  /** TCP by default. */
  dial?: Dial;
  /** Certificates (PEM) to trust in place of the usual ones. */
  ca?: string;
  /** From the lookup to the end of the TLS handshake. */
  connectTimeoutMs?: number;
}

/** The address guard refused an address. Names the host as it was asked for, never what it resolved to. */
class DestinationBlocked extends Error {
  readonly code = "blocked_destination";

  constructor(host: string, port: number) {
    super(`cannot connect to ${host} port ${port}: it leads to an address that is not public`);
    this.name = "DestinationBlocked";
  }
}

const CONNECT_TIMEOUT_MS = 10_000;
/** How long one of several addresses may take before the next is tried. */
const ATTEMPT_TIMEOUT_MS = 1_000;

/**
 * An undici connector that dials only what the guard lets pass. The check is on the very addresses that are dialled,
 * so a name that changes between check and use gains nothing; one refused address refuses the whole name. Literals are
 * checked here too, as Node asks no lookup about them. Knows no proxies. `signal` gives up connecting.
 */
export function guardedConnector(options: ConnectorOptions, signal?: AbortSignal): buildConnector.connector {
  return (target, callback) => {
    connect(target, options, signal).then(
      (socket) => callback(null, socket),
      (error) => callback(error, null),
    );
  };
}

async function connect(
  target: buildConnector.Options,
  options: ConnectorOptions,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  const { dial = tcpDial, ca, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
  const host = target.hostname;
  const port = portOf(target);

  using attempt = timeLimit(connectTimeoutMs, signal, () => timedOut(host, port));
  const addresses = await resolved({ host, port }, options, attempt.signal);
  const socket = await dial({ host, addresses, port }, attempt.signal);
  return target.protocol === "https:" ? await secured(socket, { host, ca }, attempt.signal) : socket;
}

/**
 * The addresses that a new connection would be made to now, for one that is kept. Throws as connecting would, when there are
 * none or one of them may not be dialled.
 */
export async function checkedAddresses(
  url: URL,
  options: ConnectorOptions,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
  const host = withoutBrackets(url.hostname);
  const port = portOf(url);
  if (isIP(host) !== 0) return checked([host], { host, port }, options);
  using attempt = timeLimit(connectTimeoutMs, signal, () => timedOut(host, port));
  return await resolved({ host, port }, options, attempt.signal);
}

async function resolved(
  target: { host: string; port: number },
  options: ConnectorOptions,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { host } = target;
  const { lookup = systemLookup } = options;
  const addresses = isIP(host) === 0 ? await unlessAborted(lookup(host), signal) : [host];
  return checked(addresses, target, options);
}

function checked(
  addresses: readonly string[],
  { host, port }: { host: string; port: number },
  { guard }: ConnectorOptions,
): readonly string[] {
  if (addresses.length === 0) throw unknownHost(host);
  if (!addresses.every((address) => guard.mayDial(address, host, port))) throw new DestinationBlocked(host, port);
  return addresses;
}

async function systemLookup(host: string): Promise<readonly string[]> {
  const answers = await resolveName(host, { all: true });
  return answers.map(({ address }) => address);
}

/** The usual way to connect. */
export async function tcpDial({ addresses, port }: DialTarget, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const checked = addresses.map((address) => ({ address, family: isIP(address) }));
  const answerChecked: LookupFunction = (_host, _options, callback) => callback(null, checked);
  // The host is a stand-in that cannot be resolved: Node asks the lookup above, which knows one answer.
  const socket = connectSocket({
    host: "checked.invalid",
    port,
    lookup: answerChecked,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
    noDelay: true,
  });
  await ready(socket, "connect", signal);
  return socket;
}

async function secured(
  socket: Socket,
  { host, ca }: { host: string; ca: string | undefined },
  signal: AbortSignal,
): Promise<Socket> {
  const name = host.replace(/\.$/, "");
  const secure = connectTls({
    socket,
    host: name,
    // RFC 6066 knows no addresses as server names; the certificate is then checked against `host`.
    ...(isIP(name) === 0 && { servername: name }),
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
  });
  await ready(secure, "secureConnect", signal);
  return secure;
}

/** Waits for the event. On failure the socket is gone before the error is thrown. */
function ready(socket: Socket, event: "connect" | "secureConnect", signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const giveUp = (): void => void socket.destroy(signal.reason);
  const closed = (): void => reject(withCode("ECONNRESET", "the connection was closed before it was ready"));
  if (signal.aborted) giveUp();
  signal.addEventListener("abort", giveUp, { once: true });
  socket.once(event, resolve).once("error", reject).once("close", closed);
  return promise.finally(() => {
    signal.removeEventListener("abort", giveUp);
    socket.off("error", reject).off("close", closed);
  });
}

function timedOut(host: string, port: number): Error {
  return withCode("ETIMEDOUT", `cannot connect to ${host} port ${port} in time`);
}

function unknownHost(host: string): Error {
  return withCode("ENOTFOUND", `cannot resolve ${host}`);
}

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
