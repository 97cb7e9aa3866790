import { findings, type Status } from "./wire.ts";

interface About {
  /** Bytes of the file. */
  size?: number;
  /** Real file type. Engine P only. */
  realfiletype?: string;
}

/** Every byte was looked at and nothing was found. */
export interface CleanResult extends About {
  status: "clean";
}

export interface InfectedResult extends About {
  status: "infected";
  /** The kind of malware. */
  finding?: string;
}

/** The file could not be scanned. Do not trust it: this is no kind of clean. */
export interface NotScannedResult extends About {
  status: "no";
  /** Why not. */
  finding?: string;
}

/** What a scan says. Branch on `status`. */
export type ScanResult = CleanResult | InfectedResult | NotScannedResult;

/** True for `clean` alone. */
export function isClean<Result extends { status: Status }>(
  result: Result,
): result is Extract<Result, { status: "clean" }> {
  return result.status === "clean";
}

/** A result, or a callback's. */
interface Answered {
  status: Status;
  finding?: string | undefined;
}

/** Not scanned because a password is missing, by Lazaret's word or by clamd's (`Heuristics.Encrypted.Zip`). */
export function isEncrypted(result: Answered): boolean {
  return isNotScannedFor(result, findings.encrypted, "Heuristics.Encrypted.");
}

/** Not scanned because the file is larger than files may be. An upload that is gets a `TooBigError` instead. */
export function isTooBig(result: Answered): boolean {
  return isNotScannedFor(result, findings.tooBig);
}

/**
 * Not scanned because of what is in it: too much, too many, too deep, by Lazaret's limits or by clamd's
 * (`Heuristics.Limits.Exceeded.MaxFiles`).
 */
export function isOverLimits(result: Answered): boolean {
  return isNotScannedFor(result, findings.limitsExceeded, "Heuristics.Limits.");
}

function isNotScannedFor({ status, finding = "" }: Answered, own: string, ofClamd?: string): boolean {
  return status === "no" && (finding === own || (ofClamd !== undefined && finding.startsWith(ofClamd)));
}

/** From what the wire holds to a result; answers what is wrong with it otherwise. */
export function parseResult(value: unknown): { result: ScanResult } | { problem: string } {
  if (!isRecord(value)) return { problem: "it is no JSON object" };
  const finding = value.finding ?? undefined;
  const size = value.size ?? undefined;
  const realfiletype = value.realfiletype ?? undefined;
  if (finding !== undefined && typeof finding !== "string") return { problem: "its finding is no text" };
  if (realfiletype !== undefined && typeof realfiletype !== "string") return { problem: "its realfiletype is no text" };
  if (size !== undefined && !isSize(size)) return { problem: "its size is no number of bytes" };
  const about = { ...(size !== undefined && { size }), ...(realfiletype !== undefined && { realfiletype }) };
  switch (value.status) {
    case "clean":
      if (finding) return { problem: "it says clean and has a finding" };
      return { result: { status: "clean", ...about } };
    case "infected":
    case "no":
      return { result: { status: value.status, ...(finding !== undefined && { finding }), ...about } };
    default:
      return { problem: "its status is none of clean, infected and no" };
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSize(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
