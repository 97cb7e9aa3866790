import { isIP } from "node:net";
import { resolve } from "node:path";

/** One row of the settings table. A value is text until it is parsed, wherever it came from. */
export interface Setting<T> {
  /** One line for people. */
  doc: string;
  parse: Parser<T>;
  /** As somebody would write it. */
  default: string;
  /** Shown nowhere; may also be read from the file that LAZARET_<NAME>_FILE names. */
  secret?: boolean;
}

type Parsed<T> = { value: T } | { problem: string; hint?: string };
export type Parser<T> = (text: string) => Parsed<T>;

/** Keeps the type of the parsed value. */
export function setting<T>(row: Setting<T>): Setting<T> {
  return row;
}

export const text: Parser<string> = (value) => ({ value });

/** Relative paths start at the folder the process was started in; empty stays empty. */
export const path: Parser<string> = (value) => ({ value: value === "" ? "" : resolve(value) });

/** `https://host:port/path` without slashes at its end; empty stays empty. */
export const httpAddress: Parser<string> = (value) => {
  if (value === "" || /^https?:$/.test(URL.parse(value)?.protocol ?? "")) return { value: value.replace(/\/+$/, "") };
  return { problem: "must be an http or https address" };
};

/** An address, or the name of one: what a link can have in its place. */
export const hostAddress: Parser<string> = (value) => {
  const isName = /^[\w.-]{1,253}$/.test(value) && URL.canParse(`http://${value}`);
  return isIP(value) !== 0 || isName
    ? { value }
    : { problem: "must be an IP address or the name of a host, without a port" };
};

export function wholeNumber(lowest: number, highest: number): Parser<number> {
  return (value) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= lowest && number <= highest) return { value: number };
    return { problem: `must be a whole number from ${lowest} to ${highest}` };
  };
}

export function choice<const T extends string>(values: readonly T[]): Parser<T> {
  return (value) => {
    const chosen = values.find((candidate) => candidate.toLowerCase() === value.toLowerCase());
    return chosen === undefined ? { problem: `must be one of ${values.join(", ")}` } : { value: chosen };
  };
}

export const yesOrNo: Parser<boolean> = (value) => {
  if (/^(true|yes|1)$/i.test(value)) return { value: true };
  if (/^(false|no|0)$/i.test(value)) return { value: false };
  return { problem: "must be true or false" };
};

/** Comma-separated; `problemOf` says what is wrong with one entry. */
export function list(problemOf: (entry: string) => string | undefined): Parser<readonly string[]> {
  return (value) => {
    const entries = value
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== "");
    for (const [index, entry] of entries.entries()) {
      const problem = problemOf(entry);
      if (problem) return { problem: `entry ${index + 1}: ${problem}` };
    }
    return { value: entries };
  };
}

/** Secrets that clients show, comma-separated or one per line. */
export const keyList: Parser<readonly string[]> = (value) =>
  list((key) =>
    /^[\x21-\x7e]{8,512}$/.test(key) ? undefined : "a key has 16 to 512 visible characters (for `dev`, 8 are enough)",
  )(value.replaceAll(/[\r\n]+/g, ","));
