import { InvalidArgumentError } from "commander";

const UNITS: Record<string, number> = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };
const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

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
  const date = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(date)) throw new InvalidArgumentError("It must be like 7d, 12h or 2026-11-01.");
  return date;
}

/** `500ms`, `90s`, `15m`, `1h`: milliseconds. */
export function duration(text: string): number {
  const [, number, unit = ""] = /^(\d+)(ms|s|m|h)$/.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError("It must be a time, such as 30s, 10m or 1h.");
  return Number(number) * (unit === "ms" ? 1 : (SECONDS[unit] ?? 1) * 1000);
}

/** A whole number that is at least 1. */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 on.");
}

/** 1,536 bytes as `1.5 KB`. */
export function inBytes(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const value = bytes / 1024 ** power;
  return `${value.toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

/** 3,725 seconds as `1h 2m`. */
export function inTime(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  return `${Math.floor(whole / 3600)}h ${Math.floor((whole % 3600) / 60)}m`;
}
