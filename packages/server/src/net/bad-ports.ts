/**
 * Ports that no file is fetched from. A request to one of them speaks HTTP to a server of another protocol, and the
 * lines of the request, some of them the client's, may be commands there.
 */
export function isBadPort(port: number): boolean {
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
