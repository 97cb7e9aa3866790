import { isIP } from "node:net";
import { URL_MAX_CHARACTERS } from "@lazaret/contract";
import {
  type AddressBytes,
  addressBytes,
  carriedIpv4,
  covers,
  isExact,
  isGlobalUnicast,
  isMetadata,
  type Network,
  parseNetwork,
} from "./networks.ts";

/**
 * Where outbound connections may go. By default: http and https, no port that belongs to another protocol, and only
 * global unicast addresses.
 */
export interface OutboundPolicy {
  /** CIDR blocks that are open as well. A metadata address opens only by a block of that one address. */
  allowNetworks: readonly string[];
  /** `host:port`, opened whatever the host resolves to, metadata addresses excepted, and whatever the port. */
  allowHosts: readonly string[];
}

type Destination =
  | { kind: "allowed"; url: URL }
  | { kind: "invalid"; message: string }
  | { kind: "blocked"; message: string };

/** Policy only: nothing is resolved and nothing dialled. Names are judged by `mayDial`, when they have become addresses. */
export interface AddressGuard {
  /** A URL as a client submits it: RFC 3986, no credentials, and address literals in every notation. */
  checkUrl(text: string): Destination;
  /** A URL that is about to be dialled: read as browsers read it, relative to `base`, and of any length. */
  checkLink(text: string, base?: URL): Destination;
  /** Whether this address may be dialled for this host (a name or an address, without brackets) and port. */
  mayDial(address: string, host: string, port: number): boolean;
}

/** The settings that open what is not public, of downloads and of callbacks. */
interface OutboundSettings extends OutboundPolicy {
  allowCallbackNetworks: readonly string[];
  allowCallbackHosts: readonly string[];
}

/** Two policies: who may fetch files from a network has no business to POST into it. */
export function outboundGuards(settings: OutboundSettings): { guard: AddressGuard; callbackGuard: AddressGuard } {
  const { allowCallbackNetworks, allowCallbackHosts } = settings;
  return {
    guard: addressGuard(settings),
    callbackGuard: addressGuard({ allowNetworks: allowCallbackNetworks, allowHosts: allowCallbackHosts }),
  };
}

export function addressGuard(policy: OutboundPolicy): AddressGuard {
  const networks = policy.allowNetworks.map(readNetwork);
  const hosts = new Set(policy.allowHosts.map(readAllowedHost));

  function isAllowed(host: string, port: number): boolean {
    return hosts.size > 0 && hosts.has(hostAndPort(host, port));
  }

  function mayReach(address: AddressBytes, hostIsAllowed: boolean): boolean {
    if (isMetadata(address)) return networks.some((network) => isExact(network) && covers(network, address));
    if (!carriedIpv4(address).every((carried) => mayReach(carried, hostIsAllowed))) return false;
    return hostIsAllowed || isGlobalUnicast(address) || networks.some((network) => covers(network, address));
  }

  function mayDial(address: string, host: string, port: number): boolean {
    const bytes = addressBytes(address);
    const hostIsAllowed = isAllowed(host, port);
    return bytes !== undefined && (hostIsAllowed || !isBadPort(port)) && mayReach(bytes, hostIsAllowed);
  }

  function checkLink(text: string, base?: URL): Destination {
    const url = URL.parse(text, base?.href);
    if (!url) return invalid("the URL is not valid");
    if (url.protocol !== "http:" && url.protocol !== "https:") return blocked("the URL is neither http nor https");
    if (url.username !== "" || url.password !== "") return invalid("the URL has credentials in it");
    const host = withoutBrackets(url.hostname);
    const port = portOf(url);
    if (isBadPort(port) && !isAllowed(host, port)) return blocked(`port ${port} is not for downloads`);
    if (isIP(host) !== 0 && !mayDial(host, host, port))
      return blocked("the URL leads to an address that is not public");
    return { kind: "allowed", url };
  }

  return {
    checkUrl(text) {
      const problem = syntaxProblem(text);
      return problem === undefined ? checkLink(text) : invalid(problem);
    },
    checkLink,
    mayDial,
  };
}

/** The port a URL leads to, also when it is the scheme's own. */
export function portOf(url: { protocol: string; port: string }): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

/** What is wrong with an entry of `allowNetworks`. */
export function networkProblem(text: string): string | undefined {
  if (parseNetwork(text)) return undefined;
  const bytes = addressBytes(text);
  if (bytes) return `${text} is an address, not a network: write ${text}/${bytes.length * 8}`;
  return `${text} is not a CIDR block such as 10.0.0.0/8 or fd12:3456::/32, with no bits set beyond its prefix`;
}

/** What is wrong with an entry of `allowHosts`. */
export function allowedHostProblem(text: string): string | undefined {
  if (parseAllowedHost(text) !== undefined) return undefined;
  return `${text} is not of the form host:port, such as files.internal:8080 or [fd12::1]:8080`;
}

/**
 * What the WHATWG parser would mend in silence: two readers of such a URL may see two hosts in it, so it goes no further.
 * Only the characters of RFC 3986, percent signs followed by two digits, and for http(s) `//` and a host.
 */
function syntaxProblem(text: string): string | undefined {
  if (text.length > URL_MAX_CHARACTERS) return `the URL has over ${URL_MAX_CHARACTERS} characters`;
  if (!/^[\w\-.~:/?#[\]@!$&'()*+,;=%]*$/.test(text)) return "the URL has characters outside RFC 3986";
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return "the URL has a percent sign without two hexadecimal digits";
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(text)?.[0];
  if (scheme === undefined) return "the URL has no scheme";
  if (!/^https?$/i.test(scheme)) return undefined;
  const authority = /^\/\/([^/?#]+)/.exec(text.slice(scheme.length + 1))?.[1];
  if (authority === undefined) return "the URL has no host";
  return authority.includes("@") ? "the URL has credentials in it" : undefined;
}

function readNetwork(text: string): Network {
  const network = parseNetwork(text);
  if (!network) throw new Error(`cannot allow a network: ${networkProblem(text)}`);
  return network;
}

function readAllowedHost(text: string): string {
  const host = parseAllowedHost(text);
  if (host === undefined) throw new Error(`cannot allow a host: ${allowedHostProblem(text)}`);
  return host;
}

function parseAllowedHost(text: string): string | undefined {
  const [, host = "", digits = ""] = /^(\[[\d:.a-f]+\]|[^\s:/?#@\\[\]*%]+):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (host === "" || port < 1 || port > 65_535 || !URL.canParse(`http://${host}/`)) return undefined;
  return hostAndPort(withoutBrackets(new URL(`http://${host}/`).hostname), port);
}

/** `files.internal.` and `files.internal` are the same host. */
function hostAndPort(host: string, port: number): string {
  return `${host.toLowerCase().replace(/\.$/, "")} ${port}`;
}

/** The host of a URL as it is dialled: IPv6 addresses stand in brackets there. */
export function withoutBrackets(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host;
}

function invalid(message: string): Destination {
  return { kind: "invalid", message };
}

function blocked(message: string): Destination {
  return { kind: "blocked", message };
}

/**
 * Ports that no file is fetched from. A request to one of them speaks HTTP to a server of another protocol, and the
 * lines of the request, some of them the client's, may be commands there.
 */
function isBadPort(port: number): boolean {
  return badPorts.has(port);
}

/** Redis and memcached take lines of text for commands. Databases that speak HTTP are left to the address rules. */
const textCaches = [6379, 11211];

/** The port blocking list of the WHATWG Fetch standard. */
const otherProtocols = [
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

const badPorts: ReadonlySet<number> = new Set([...otherProtocols, ...textCaches]);
