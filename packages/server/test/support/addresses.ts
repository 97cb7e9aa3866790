import fc from "fast-check";
import ipaddr from "ipaddr.js";

type Octets = readonly number[];

const octet = fc.integer({ min: 0, max: 255 });

export const ipv4: fc.Arbitrary<Octets> = fc.tuple(octet, octet, octet, octet);

export function dotted(octets: Octets): string {
  return octets.join(".");
}

/** A second opinion: ipaddr.js has a list of its own. Azure's WireServer is the one public address we add to it. */
export function isForbidden(address: string): boolean {
  return address === "168.63.129.16" || ipaddr.parse(address).range() !== "unicast";
}

const forbiddenIpv4: fc.Arbitrary<Octets> = fc
  .oneof(
    ipv4,
    fc.tuple(fc.constant(127), octet, octet, octet),
    fc.tuple(fc.constant(10), octet, octet, octet),
    fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
    fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
    fc.constantFrom([169, 254, 169, 254], [100, 100, 100, 200], [168, 63, 129, 16], [0, 0, 0, 0]),
  )
  .filter((octets) => isForbidden(dotted(octets)));

const notations: readonly ((value: number) => string)[] = [
  (value) => `${value}`,
  (value) => `0${value.toString(8)}`,
  (value) => `0x${value.toString(16)}`,
];
const notation = fc.constantFrom(...notations);

/** A forbidden IPv4 address in a way that URL parsers understand: one to four parts, each in any base, and a dot. */
export const forbiddenHost: fc.Arbitrary<string> = fc
  .tuple(forbiddenIpv4, fc.array(notation, { minLength: 1, maxLength: 4 }), fc.constantFrom("", "."))
  .map(([octets, parts, dot]) => {
    const first = octets.slice(0, parts.length - 1);
    const last = octets.slice(parts.length - 1).reduce((sum, value) => sum * 256 + value, 0);
    return parts.map((write, index) => write(first[index] ?? last)).join(".") + dot;
  });

/** Addresses that stand for the IPv4 address X. */
const IPV4_FORMS = [
  "::ffff:X",
  "::X",
  "::ffff:0:X",
  "64:ff9b::X",
  "64:ff9b:1::X",
  "2002:X::1",
  "2606:4700:1:2:0:5efe:X",
  "2606:4700:1:2:200:5efe:X",
  "2a00:1450::100:5efe:X",
  "fe80::5efe:X",
];

/** An IPv6 address that stands for a forbidden IPv4 address. */
export const forbiddenIpv6: fc.Arbitrary<string> = fc
  .tuple(forbiddenIpv4, fc.constantFrom(...IPV4_FORMS))
  .map(([[a = 0, b = 0, c = 0, d = 0], form]) =>
    form.replace("X", `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`),
  );
