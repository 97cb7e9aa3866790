/** `/path?query`, or the same after `http://host` as a proxy's client sends it. Slashes are collapsed. */
export function requestTarget(target: string): { path: string; query: string } {
  const local = target.replace(/^https?:\/\/[^/?#]*/i, "");
  const queryAt = local.indexOf("?");
  const path = queryAt === -1 ? local : local.slice(0, queryAt);
  return { path: `/${path}`.replace(/\/{2,}/g, "/"), query: queryAt === -1 ? "" : local.slice(queryAt + 1) };
}
