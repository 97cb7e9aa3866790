import type { Evidence } from "./judge.ts";

/** The same callback without one of the mistakes that are easily made. */
export interface Variation {
  /** Goes on after "the signature fits". */
  what: string;
  changed: Evidence;
}

interface Change<T> {
  what: string;
  value: T;
}

/** One mistake, or one in the body together with one in the URL. */
export function* variations(evidence: Evidence): Generator<Variation> {
  const bodies = changes(evidence.body, bodyChanges(evidence.body), sameBytes);
  const urls = changes(evidence.callbackUrl, urlChanges(evidence.callbackUrl), (one, other) => one === other);
  const signature = hexOf(evidence.signature ?? "");
  if (signature !== undefined) {
    yield { what: "once it is written as hex; it came as base64", changed: { ...evidence, signature } };
  }
  for (const { what, value } of bodies) yield { what, changed: { ...evidence, body: value } };
  for (const { what, value } of urls) yield { what, changed: { ...evidence, callbackUrl: value } };
  for (const body of bodies) {
    for (const url of urls) {
      const what = `${body.what}, and ${url.what}`;
      yield { what, changed: { ...evidence, body: body.value, callbackUrl: url.value } };
    }
  }
}

function changes<T>(original: T, all: readonly Change<T>[], same: (one: T, other: T) => boolean): Change<T>[] {
  return all.filter(({ value }) => !same(value, original));
}

function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

function bodyChanges(body: Uint8Array): Change<Uint8Array>[] {
  const text = Buffer.from(body).toString("utf8");
  const compact = writtenAgain(text);
  return [
    { what: "without the line break at the end of the body", value: Buffer.from(text.replace(/\r?\n$/, "")) },
    { what: "without the byte order mark before the body", value: Buffer.from(text.replace(/^\ufeff/, "")) },
    ...(compact === undefined
      ? []
      : [
          {
            what: "with the JSON as Lazaret writes it: the body was parsed and written again",
            value: Buffer.from(compact),
          },
        ]),
  ];
}

function writtenAgain(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function urlChanges(url: string): Change<string>[] {
  const values = [
    url.endsWith("/") ? url.replace(/\/+$/, "") : `${url}/`,
    url.replace(/^http:/i, "https:"),
    url.replace(/^https:/i, "http:"),
    url.replace(/#.*$/s, ""),
    url.replace(/[?#].*$/s, ""),
    URL.parse(url)?.href ?? url,
    (URL.parse(url)?.href ?? url).replace(/\/$/, ""),
    url.trim(),
  ];
  return [...new Set(values)].map((value) => ({ what: `with the callback_url ${value}`, value }));
}

/** Of a signature that is base64. */
function hexOf(signature: string): string | undefined {
  if (/^[0-9a-f]*$/i.test(signature) || !/^[\w+/-]+=*$/.test(signature)) return undefined;
  return Buffer.from(signature, "base64").toString("hex");
}
