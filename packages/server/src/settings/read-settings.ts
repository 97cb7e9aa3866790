import { readFileSync } from "node:fs";
import { type SettingName, type Settings, settingsTable } from "../settings.ts";

export type Origin = "flag" | "environment" | "file" | "default";

interface SettingsProblem {
  /** The name as the operator wrote it. */
  name: string;
  problem: string;
  hint?: string;
}

export type ReadSettings =
  | { kind: "ok"; settings: Settings; origins: Record<SettingName, Origin> }
  | { kind: "problems"; problems: readonly SettingsProblem[] };

export interface SettingsSources {
  /** Flags by the setting's name. */
  flags: Readonly<Record<string, string | undefined>>;
  env: Readonly<Record<string, string | undefined>>;
  /** The parsed lazaret.json, when there is one. */
  file: Readonly<Record<string, unknown>>;
  /** What a command puts in place of the table's defaults. */
  defaults?: Partial<Record<SettingName, string>>;
  readSecretFile?: (path: string) => string;
}

export const settingNames = Object.keys(settingsTable) as SettingName[];
/** Read by the command line's client, not by the server; no mistake in the same environment. */
const CLIENT_VARIABLES = ["LAZARET_URL", "LAZARET_API_KEY"];

export function envName(name: string): string {
  return `LAZARET_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

export function flagName(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Flags win over the environment, that over lazaret.json, that over the default. Reports every problem at once. */
export function readSettings(sources: SettingsSources): ReadSettings {
  const { flags, env, file, defaults = {}, readSecretFile = (path) => readFileSync(path, "utf8").trim() } = sources;
  const problems: SettingsProblem[] = [...unknownVariables(env), ...unknownKeys(file)];
  const settings: Record<string, unknown> = {};
  const origins: Record<string, Origin> = {};

  const fileValues = new Map(Object.entries(file).map(([key, value]) => [key.toLowerCase(), { key, value }]));

  for (const name of settingNames) {
    const row = settingsTable[name];
    const found = find(name);
    if (!found) continue;
    origins[name] = found.origin;
    const parsed = row.parse(found.text);
    if ("value" in parsed) settings[name] = parsed.value;
    else {
      const shown = row.secret ? "" : ` (it is ${JSON.stringify(found.text)})`;
      problems.push({ name: found.writtenAs, problem: `${parsed.problem}${shown}`, hint: row.doc });
    }
  }
  if (problems.length > 0) return { kind: "problems", problems };
  return { kind: "ok", settings: settings as Settings, origins: origins as Record<SettingName, Origin> };

  function find(name: SettingName): { text: string; origin: Origin; writtenAs: string } | undefined {
    const flag = flags[name];
    if (flag !== undefined) return { text: flag, origin: "flag", writtenAs: flagName(name) };

    const variable = envName(name);
    // A variable that is set to nothing is what composing tools make of one that is not set.
    const value = env[variable] || undefined;
    const fromFile = settingsTable[name].secret ? env[`${variable}_FILE`] || undefined : undefined;
    if (value !== undefined && fromFile !== undefined) {
      problems.push({ name: variable, problem: `is set, and ${variable}_FILE too`, hint: "keep one of them" });
      return undefined;
    }
    if (value !== undefined) return { text: value, origin: "environment", writtenAs: variable };
    if (fromFile !== undefined) {
      try {
        return { text: readSecretFile(fromFile), origin: "environment", writtenAs: `${variable}_FILE` };
      } catch (error) {
        const why = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
        problems.push({ name: `${variable}_FILE`, problem: `cannot read ${fromFile}: ${why}` });
        return undefined;
      }
    }

    const entry = fileValues.get(name.toLowerCase());
    if (entry) {
      const writtenAs = `lazaret.json: ${entry.key}`;
      const text = asText(entry.value);
      if (text !== undefined) return { text, origin: "file", writtenAs };
      problems.push({ name: writtenAs, problem: "must be a string, a number, true, false or a list" });
      return undefined;
    }
    return { text: defaults[name] ?? settingsTable[name].default, origin: "default", writtenAs: name };
  }
}

function asText(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    // Lists of objects are settings that are written as JSON wherever they stand.
    if (value.some((entry) => typeof entry === "object" && entry !== null)) return JSON.stringify(value);
    const texts = value.map(asText);
    return texts.includes(undefined) ? undefined : texts.join(",");
  }
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : undefined;
}

function unknownVariables(env: SettingsSources["env"]): SettingsProblem[] {
  const known = [
    ...settingNames.map(envName),
    ...settingNames.filter((name) => settingsTable[name].secret).map((name) => `${envName(name)}_FILE`),
    ...CLIENT_VARIABLES,
  ];
  return Object.keys(env)
    .filter((name) => name.startsWith("LAZARET_") && !known.includes(name))
    .map((name) => unknown(name, known));
}

function unknownKeys(file: SettingsSources["file"]): SettingsProblem[] {
  const known = settingNames.map((name) => name.toLowerCase());
  return Object.keys(file)
    .filter((key) => !known.includes(key.toLowerCase()))
    .map((key) => ({ ...unknown(key, settingNames), name: `lazaret.json: ${key}` }));
}

function unknown(name: string, known: readonly string[]): SettingsProblem {
  const close = nearest(name, known);
  return { name, problem: "is not a setting", ...(close && { hint: `did you mean ${close}?` }) };
}

/** The candidate that takes the fewest edits to reach, if it is near enough to be what was meant. */
function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: { candidate: string; edits: number } | undefined;
  for (const candidate of candidates) {
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (!best || edits < best.edits) best = { candidate, edits };
  }
  return best && best.edits <= Math.max(2, Math.ceil(word.length / 3)) ? best.candidate : undefined;
}

/** Insertions, deletions and replacements of one letter (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [above, letter] of [...from].entries()) {
    const next = [above + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
