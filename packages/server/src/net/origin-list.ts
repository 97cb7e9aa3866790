/** Which origins an operator has named: `https://app.example.com`, `https://*.example.com` for all names below it, or `*` for all there are. */
export type OriginList = (url: URL) => boolean;

const ORIGIN = /^(https?):\/\/(\*\.)?([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i;

export function originProblem(entry: string): string | undefined {
  if (entry === "*" || (ORIGIN.test(entry) && URL.canParse(entry.replace("*.", "")))) return undefined;
  return "must be https://host, https://host:port, https://*.domain or *";
}

export function originList(entries: readonly string[]): OriginList {
  const all = entries.includes("*");
  const exact = new Set<string>();
  const below: { protocol: string; end: string; port: string }[] = [];
  for (const entry of entries) {
    const url = URL.parse(entry.replace("*.", ""));
    if (!url) continue;
    if (entry.includes("*.")) below.push({ protocol: url.protocol, end: `.${url.hostname}`, port: url.port });
    else exact.add(url.origin);
  }
  return (url) =>
    all ||
    exact.has(url.origin) ||
    below.some(
      ({ protocol, end, port }) => url.protocol === protocol && url.port === port && url.hostname.endsWith(end),
    );
}
