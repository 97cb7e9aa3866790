import { findings } from "@lazaret/contract";

/** Why an engine's OK about this file would be no proof. */
export interface Objection {
  finding: string;
  /** For the log. */
  detail: string;
  /** Do not even ask the engine: it would be busy for minutes, and its OK would not count. Otherwise infected still wins. */
  hopeless: boolean;
}

/** More than the engine can be trusted with in the time of one request. */
export function beyondLimits(detail: string): Objection {
  return { finding: findings.limitsExceeded, detail, hopeless: true };
}

/** Common programs unpack it, the engine does not. */
export function notUnpacked(detail: string): Objection {
  return { finding: findings.unsupportedArchive, detail, hopeless: false };
}

export function encrypted(detail: string): Objection {
  return { finding: findings.encrypted, detail, hopeless: false };
}
