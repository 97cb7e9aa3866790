import { BlockList, isIP } from "node:net";

/** Who asks, by the address of the connection and the header X-Forwarded-For. */
export type ClientAddress = (peer: string | undefined, forwarded: string | undefined) => string;

/**
 * The header is believed as far as trusted proxies (CIDR blocks) wrote it: each adds the address it was asked from at the end,
 * so the last that is not a trusted proxy itself is the client. What stands before it the client may have made up.
 */
export function clientAddress(trustedProxies: readonly string[]): ClientAddress {
  const trusted = new BlockList();
  for (const network of trustedProxies) {
    const [address = "", bits] = network.split("/");
    trusted.addSubnet(address, Number(bits), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  const isTrusted = (address: string): boolean => trusted.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

  return (peer = "", forwarded = "") => {
    let client = plain(peer) ?? peer;
    if (trustedProxies.length === 0) return client;
    const addresses = forwarded.split(",").map(plain);
    while (addresses.length > 0 && isIP(client) !== 0 && isTrusted(client)) {
      const before = addresses.pop();
      if (before === undefined) break;
      client = before;
    }
    return client;
  };
}

/** Without port and brackets, and IPv4 as such; undefined when it is no address. */
function plain(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](:\d+)?$/, "$1")
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1")
    .replace(/^::ffff:(?=\d+\.)/i, "");
  return isIP(bare) === 0 ? undefined : bare;
}
