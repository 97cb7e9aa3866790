import { type Command, InvalidArgumentError, Option } from "commander";
import type { Access, Limits } from "../access/access-store.ts";
import { LIMIT_NAMES, LIMITS, parseLimit } from "../access/limits.ts";
import { CannotStart } from "../compose/cannot-start.ts";
import { loadSettings } from "./load-settings.ts";

// What `lazaret keys` and `lazaret tenants` share: limits, and what a file has declared already.

/** `none` takes a limit away. */
export type LimitFlags = { [Name in keyof Limits]?: number | "none" };

export function addLimitFlags(command: Command): Command {
  for (const name of LIMIT_NAMES) {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} <number>`;
    const parse = (text: string): number | "none" => {
      if (text === "none") return text;
      const parsed = parseLimit(name, text);
      if ("value" in parsed) return parsed.value;
      throw new InvalidArgumentError(`It ${parsed.problem}, or none.`);
    };
    command.addOption(new Option(flag, LIMITS[name].what).argParser(parse).helpGroup("Limits, each off when not set:"));
  }
  return command;
}

/** Those of before, with what the flags change. */
export function chosenLimits(flags: LimitFlags, before: Limits): Limits {
  const all = LIMIT_NAMES.map((name) => [name, flags[name] ?? before[name]] as const);
  return Object.fromEntries(all.filter(([, value]) => value !== undefined && value !== "none"));
}

const NOTHING = { kind: "read", access: { keys: [], tenants: [] } } as const;

export interface Declared extends Access {
  /** The error for who tries to change it by a command. */
  cannotChange(what: string): CannotStart;
}

/** What LAZARET_TENANTS_FILE declares, where there is one. Throws when it has mistakes. */
export async function inTenantsFile({ dataDir }: { dataDir?: string }): Promise<Declared> {
  const { tenantsFile: path } = loadSettings({ dataDir }, {}).settings;
  // Loaded only when used, as is the parser.
  const read = path === "" ? NOTHING : (await import("../access/tenants-file.ts")).readTenantsFile(path);
  if (read.kind === "refused") {
    throw new CannotStart(
      `${path} has mistakes:\n${read.problems.map((each) => `  ${each}`).join("\n")}`,
      "mend it first: what it declares cannot be changed by commands",
    );
  }
  return {
    ...read.access,
    cannotChange: (what) =>
      new CannotStart(`${what} is declared in ${path}`, "change it there; it is read again within 3 seconds"),
  };
}
