import { InvalidArgumentError, Option } from "commander";
import { calendarDate } from "../access/calendar-date.ts";
import { tenantProblem } from "../model/tenant.ts";

// Parsers of flag values. Commander shows the message of an InvalidArgumentError behind the flag and its value.

const UNITS: Record<string, number> = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };
const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const LONGEST_PAGE = 1000;
const LAST_DATE = Date.UTC(9999, 11, 31);

/** For an option that may be given several times. */
export function repeated(text: string, before: readonly string[]): string[] {
  return [...before, text];
}

/** `Name: value`, several times. */
export function header(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const [, name, value] = /^([!#$%&'*+\-.^_`|~\w]+):[ \t]*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('It must be written as "Name: value".');
  }
  return { ...before, [name]: value };
}

export function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError("It must be a port, from 0 to 65535.");
}

/** A whole number that is at least 1. */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 on.");
}

export function tenantName(text: string): string {
  const problem = tenantProblem(text);
  if (problem === undefined) return text;
  throw new InvalidArgumentError(`It ${problem}.`);
}

export function pageLimit(text: string): number {
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= LONGEST_PAGE) return limit;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${LONGEST_PAGE}.`);
}

/** `10MB`, `1.5GiB`, `4096`: bytes; a kilobyte has 1,024. */
export function byteCount(text: string): number {
  const [, number, unit = ""] = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError("It must be a size, such as 4096, 500KB or 10MB.");
  return Math.round(Number(number) * (UNITS[unit.toLowerCase()] ?? 1));
}

/** `90s`, `15m`, `12h`, `7d`, `2w` before now, or a date: milliseconds since 1970. */
export function moment(text: string, now: number = Date.now()): number {
  const [, number, unit = ""] = /^(\d+)([smhdw])$/.exec(text) ?? [];
  if (number !== undefined) return now - Number(number) * (SECONDS[unit] ?? 1) * 1000;
  const date = calendarDate(text);
  if (date === undefined) throw new InvalidArgumentError("It must be like 7d, 12h or 2026-11-01.");
  return date;
}

/** `12h`, `90d`, `2w` from now on, or a date: milliseconds since 1970. */
export function later(text: string, now: number = Date.now()): number {
  const before = moment(text, now);
  // The same distance on the other side of now.
  const time = /^\d+[smhdw]$/.test(text) ? 2 * now - before : before;
  if (time > now && time <= LAST_DATE) return time;
  throw new InvalidArgumentError("It must be later than now, and no later than the year 9999.");
}

/** `500ms`, `90s`, `15m`, `1h`, `7d`: milliseconds. */
function duration(text: string): number {
  const [, number, unit = ""] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError("It must be a time, such as 30s, 10m or 1h.");
  return Number(number) * (unit === "ms" ? 1 : (SECONDS[unit] ?? 1) * 1000);
}

/** An option whose value is a time, with a default that is shown as it would be written. */
export function timeOption(flags: string, description: string, fallback: string): Option {
  return new Option(flags, description).argParser(duration).default(duration(fallback), fallback);
}
