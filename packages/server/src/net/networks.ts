import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** An address as its 4 or 16 bytes. */
export type AddressBytes = readonly number[];

/** A range of addresses: those that share the first `bits` bits of `base`. */
export interface Network {
  base: AddressBytes;
  bits: number;
}

/** The bytes of an address in its usual notation; nothing for short, octal or hexadecimal forms and zone ids. */
export function addressBytes(text: string): AddressBytes | undefined {
  const family = isIP(text);
  if (family === 4) return text.split(".").map(Number);
  if (family === 0 || text.includes("%")) return undefined;
  return ipaddr.parse(text).toByteArray();
}

/** Nothing for text that is not a CIDR block, also when bits beyond the prefix are set. */
export function parseNetwork(text: string): Network | undefined {
  const [, address = "", prefix = ""] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const base = addressBytes(address);
  const bits = Number(prefix);
  if (!base || prefix === "" || bits > base.length * 8) return undefined;
  const loose = base.some((byte, index) => (byte & ~prefixMask(bits, index)) !== 0);
  return loose ? undefined : { base, bits };
}

export function covers({ base, bits }: Network, address: AddressBytes): boolean {
  if (base.length !== address.length) return false;
  // Asked some forty times for each address: a loop, and over the prefix alone.
  for (let index = 0; index * 8 < bits; index += 1) {
    if (base[index] !== ((address[index] ?? 0) & prefixMask(bits, index))) return false;
  }
  return true;
}

/** A network of one address. */
export function isExact({ base, bits }: Network): boolean {
  return bits === base.length * 8;
}

/** The mask of the byte at `index` under a prefix of `bits`. */
function prefixMask(bits: number, index: number): number {
  const within = Math.min(8, Math.max(0, bits - index * 8));
  return (0xff << (8 - within)) & 0xff;
}

/**
 * Returns the IPv4 addresses that an IPv6 address of a transition mechanism may stand for: dialling the one reaches the other.
 * Translators with a prefix of their own (RFC 6052) look like any other address.
 */
export function carriedIpv4(address: AddressBytes): AddressBytes[] {
  if (address.length !== 16 || covers(unspecifiedOrLoopback, address)) return [];
  const found = carriers
    .filter(({ network }) => covers(network, address))
    .map(({ at, flip = 0 }) => at.map((index) => (address[index] ?? 0) ^ flip));
  const localNat64 = covers(nat64OfNetworks, address)
    ? nat64Forms.map((at) => at.map((index) => address[index] ?? 0)).filter(([first]) => first !== 0)
    : [];
  return [...found, ...localNat64, ...(isIsatap(address) ? [address.slice(12)] : [])];
}

/** RFC 5214: an interface id of `0:5efe` or `200:5efe` and an IPv4 address, below any prefix. */
function isIsatap(address: AddressBytes): boolean {
  const [first = 0, ...rest] = address.slice(8, 12);
  return first <= 3 && [0, 0x5e, 0xfe].every((byte, index) => rest[index] === byte);
}

/** Addresses of the Internet at large: everything else is somebody's inside, or nobody's. */
export function isGlobalUnicast(address: AddressBytes): boolean {
  if (address.length === 16 && !covers(ipv6GlobalUnicast, address)) return false;
  return !specialPurpose.some((range) => covers(range, address));
}

/** Answers questions about, or gives credentials of, the machine that asks. */
export function isMetadata(address: AddressBytes): boolean {
  return metadata.some((range) => covers(range, address));
}

function network(text: string): Network {
  const parsed = parseNetwork(text);
  if (!parsed) throw new Error(`cannot read the network ${text}`);
  return parsed;
}

const unspecifiedOrLoopback = network("::/127");

const LAST_FOUR = [12, 13, 14, 15];

/** Where the bytes of the IPv4 address are; Teredo inverts them. */
const carriers: readonly { network: Network; at: readonly number[]; flip?: number }[] = [
  { network: network("::/96"), at: LAST_FOUR }, // IPv4-compatible, deprecated (RFC 4291)
  { network: network("::ffff:0:0/96"), at: LAST_FOUR }, // IPv4-mapped (RFC 4291)
  { network: network("::ffff:0:0:0/96"), at: LAST_FOUR }, // IPv4-translated (RFC 2765)
  { network: network("64:ff9b::/96"), at: LAST_FOUR }, // NAT64 (RFC 6052)
  { network: network("2002::/16"), at: [2, 3, 4, 5] }, // 6to4 (RFC 3056)
  { network: network("2001::/32"), at: LAST_FOUR, flip: 0xff }, // Teredo, the client (RFC 4380)
  { network: network("2001::/32"), at: [4, 5, 6, 7] }, // Teredo, the server
];

/** NAT64 of a network's own (RFC 8215), whose prefix has any of the lengths 48, 56, 64 and 96 (RFC 6052; byte 8 stays 0). */
const nat64OfNetworks = network("64:ff9b:1::/48");
const nat64Forms = [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], LAST_FOUR];

/** RFC 4291, and the only part of the IPv6 space that IANA hands out. */
const ipv6GlobalUnicast = network("2000::/3");

/** The IANA special-purpose registries (RFC 6890), whether or not they call a range globally reachable, and a range that was given back. */
const specialPurpose: readonly Network[] = [
  "0.0.0.0/8", // this network; Linux takes 0.0.0.0 for loopback
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // multicast tunnels (AMT)
  "192.88.99.0/24", // 6to4 relays, deprecated
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarking
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast
  "2001::/23", // protocol assignments: Teredo, benchmarking, AMT, AS112, ORCHID, drone ids
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3ffe::/16", // 6bone, given back (RFC 3701)
  "3fff::/20", // documentation
].map(network);

const metadata: readonly Network[] = [
  "169.254.169.254/32", // AWS, Google Cloud, Azure, DigitalOcean and most others
  "169.254.170.2/32", // AWS ECS task credentials
  "169.254.170.23/32", // AWS EKS pod identity
  "fd00:ec2::254/128", // AWS
  "fd00:ec2::23/128", // AWS EKS pod identity
  "fd20:ce::254/128", // Google Cloud
  "100.100.100.200/32", // Alibaba Cloud
  "192.0.0.192/32", // Oracle Cloud
  "168.63.129.16/32", // Azure WireServer, although in a public range
].map(network);
