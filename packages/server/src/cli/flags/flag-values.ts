import { InvalidArgumentError, Option } from "commander";
import { duration } from "../terminal/quantities.ts";

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

/** An option whose value is a time, with a default that is shown as it would be written. */
export function timeOption(flags: string, description: string, fallback: string): Option {
  return new Option(flags, description).argParser(duration).default(duration(fallback), fallback);
}
