import { badRequest, type Problem } from "../receive/problem.ts";

/** What a query of /admin/v1 asks for. What is wrong with it is a 400 that names it. */

const USUAL_PAGE = 50;
const LARGEST_PAGE = 200;
/** No text that somebody searches for is longer. */
const LONGEST_TEXT = 300;
const LONGEST_CURSOR = 4096;

export function limitIn(query: URLSearchParams): number {
  const text = query.get("limit");
  if (text === null) return USUAL_PAGE;
  const limit = Number(text);
  if (/^\d{1,4}$/.test(text) && limit >= 1 && limit <= LARGEST_PAGE) return limit;
  throw wrong("limit", `must be a whole number from 1 to ${LARGEST_PAGE}`);
}

/** Milliseconds since 1970. */
export function timeIn(query: URLSearchParams, name: "since" | "until"): number | undefined {
  const text = textIn(query, name);
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw wrong(name, "must be a time in milliseconds since 1970");
}

/** Undefined when it is not there, or empty as forms send it. */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (text.length <= LONGEST_TEXT) return text;
  throw wrong(name, `has more than ${LONGEST_TEXT} characters`);
}

export function choiceIn<const Choice extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = textIn(query, name);
  if (text === undefined) return undefined;
  const chosen = choices.find((each) => each === text);
  if (chosen !== undefined) return chosen;
  throw wrong(name, `must be one of ${choices.join(", ")}`);
}

/** Only what is there, for ports whose optional fields are not to be undefined. */
export function present<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof present<Fields>
  >;
}

/** A place in a list of ours, as an opaque text. */
export function cursorOf(place: unknown): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/** `read` answers undefined for what is none of ours. */
export function cursorIn<Place>(
  query: URLSearchParams,
  read: (value: Readonly<Record<string, unknown>>) => Place | undefined,
): Place | undefined {
  const text = query.get("after");
  if (text === null || text === "") return undefined;
  const place = text.length <= LONGEST_CURSOR ? read(objectIn(text)) : undefined;
  if (place === undefined) throw invalidCursor();
  return place;
}

/** Whether a part of a place, or an id, may be one of a store's: no store is asked with what cannot be. */
export function isStoreText(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]{1,200}$/.test(value);
}

/** A place that a store gave, and that it checks itself. */
export function storeCursorIn(query: URLSearchParams): string | undefined {
  const text = query.get("after");
  if (text === null || text === "") return undefined;
  if (text.length > LONGEST_CURSOR) throw invalidCursor();
  return text;
}

export function invalidCursor(): Problem {
  return badRequest("invalid_cursor", "after is not a place in this list", "use next of the previous page, unchanged");
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function wrong(name: string, what: string): Problem {
  return badRequest("invalid_request", `${name} ${what}`);
}
