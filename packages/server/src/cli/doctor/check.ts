/** One thing that was checked, and what to do about it. */
export interface Check {
  level: "ok" | "warn" | "fail";
  /** One or two words. */
  name: string;
  detail: string;
  fix?: string;
  /** For programs: what the detail says in words. */
  figures?: Readonly<Record<string, number>>;
}

export function ok(name: string, detail: string): Check {
  return { level: "ok", name, detail };
}

/** It works, but perhaps not as intended. */
export function warn(name: string, detail: string, fix: string): Check {
  return { level: "warn", name, detail, fix };
}

/** It does not work, or not safely. */
export function fail(name: string, detail: string, fix: string): Check {
  return { level: "fail", name, detail, fix };
}
