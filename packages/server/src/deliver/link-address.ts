/** All that the query of a link may tell besides how to get in: which version it leads to. */
const kept: ReadonlySet<string> = new Set(["versionid"]);

/**
 * A link without its secrets, for people and callbacks: who has it knows the object, and cannot get it. Of the query only
 * what is known to be harmless stays, so that no store's signature can be forgotten here. The path is left as it is: a
 * parser would resolve the dots in a key.
 */
export function linkAddress(link: string): string {
  const [address = "", query = ""] = splitOnce(link.split("#", 1)[0] ?? "", "?");
  const harmless = query.split("&").filter((parameter) => kept.has(nameOf(parameter)));
  return harmless.length === 0 ? address : `${address}?${harmless.join("&")}`;
}

function nameOf(parameter: string): string {
  return (parameter.split("=", 1)[0] ?? "").toLowerCase();
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
