export type RawRecord = Record<string, unknown>;

/** Why a message of another producer cannot be understood. */
export class RawProblem extends Error {}

export function isRecord(value: unknown): value is RawRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RawProblem("the message is not JSON");
  }
}

export function textOf(record: RawRecord, name: string): string {
  const value = record[name];
  if (typeof value !== "string" || value === "") throw new RawProblem(`has no ${name}`);
  return value;
}

/** S3 writes keys into its notifications as browsers write forms: a plus is a space. */
export function formDecoded(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new RawProblem(`has a ${name} that is not form-url-encoded`);
  }
}
