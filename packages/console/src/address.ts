import { signal } from "@preact/signals";

/**
 * Where the reader is, in the fragment: `#/jobs?state=dead`. A fragment needs no answer of the server for each page, so that the same files
 * work under any path, and is never sent to one, so that a link that logs in is in no log.
 */
interface Address {
  path: string;
  query: Readonly<Record<string, string>>;
}

export const address = signal<Address>(read());

addEventListener("hashchange", () => {
  address.value = read();
});

function read(): Address {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { path: `/${path}`, query: Object.fromEntries(new URLSearchParams(query)) };
}

export function href(path: string, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const text = new URLSearchParams(given).toString();
  return `#${path}${text && `?${text}`}`;
}

export function go(path: string, query: Record<string, string | undefined> = {}, how?: "replace"): void {
  const url = href(path, query);
  if (how === "replace") history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  address.value = read();
}

/** Changes a part of the query. A filter that changes begins the list anew. */
export function setQuery(change: Record<string, string | undefined>): void {
  const { path, query } = address.value;
  go(path, { ...query, after: undefined, ...change }, "replace");
}

/** As wouter asks for it. */
export function useFragment(): [string, (to: string) => void] {
  return [address.value.path, (to) => go(to)];
}
useFragment.hrefs = (path: string): string => `#${path}`;
