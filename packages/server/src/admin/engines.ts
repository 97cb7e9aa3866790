import { randomUUID } from "node:crypto";
import type { AdminDoctor, AdminEngine, AdminEngines, AdminSelfTest } from "@lazaret/contract/admin";
import { wholeBytes } from "../flow/whole-bytes.ts";
import type { Verdict } from "../model/verdict.ts";
import type { Engine, EngineCheck } from "../scan/engine.ts";
import type { Activity } from "./activity.ts";
import type { Watch } from "./watch.ts";

export interface EngineParts {
  /** Which variant it is. */
  name: string;
  /** Never throws. */
  health(): Promise<{ ready: boolean; checks: readonly EngineCheck[] }>;
  readiness(): Promise<{ ready: boolean; checks: readonly { name: string; ok: boolean; detail: string }[] }>;
  /** What the doctor says of this machine, remembered for a while. */
  doctor(): Promise<AdminDoctor["checks"]>;
  engine: Pick<Engine, "scan">;
  activity: Activity;
  /** Signatures that are older count as old. */
  maxAgeDays: number;
  /** How much is scanned at once, for requests and for jobs. */
  slots: { requests: number; jobs: number };
  underWay: Watch["underWay"];
  now(): number;
}

/** What says something about bytes; the rest is what it needs. */
const ENGINES = ["clamd", "rules"];
/** Signatures that are older: see to it. */
const WARN_DAYS = 3;
/** In two halves, so that no antivirus trips over this file. */
const EICAR = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"];
/** How the engine begins to speak of a clamd that it does without. */
const WITHOUT = "NOT IN USE: ";
/** `ClamAV 1.4.6 at …, signatures 27500, 0.4 days old` */
const CLAMD_DETAIL = /^(ClamAV \S+) at .*?(?:, signatures (\d+))?/;

export async function showEngines(parts: EngineParts): Promise<AdminEngines> {
  const { name, activity, now } = parts;
  const [{ ready, checks }, state, doctor] = await Promise.all([parts.health(), parts.readiness(), parts.doctor()]);
  const isEngine = (check: { name: string }): boolean => ENGINES.includes(check.name);
  const p95 = activity.p95Ms();
  return {
    engine: name,
    ready,
    engines: checks.filter(isEngine).map((check) => shownEngine(check, doctor, now())),
    others: [
      ...state.checks.filter((check) => !isEngine(check)).map(({ name, ok, detail }) => ({ name, ok, detail })),
      ...doctor
        .filter((check) => check.name === "disk" || check.name === "clamd folder")
        .map(({ name, ok, detail, hint }) => ({ name, ok, detail, ...(hint !== undefined && { hint }) })),
    ],
    scans: scansOf(parts),
    errors_24h: activity.errorsOfDay(),
    ...(p95 !== undefined && { p95_ms: p95 }),
    warn_days: Math.min(WARN_DAYS, parts.maxAgeDays),
    alarm_days: parts.maxAgeDays,
  };
}

function scansOf({ slots, underWay }: Pick<EngineParts, "slots" | "underWay">): AdminEngines["scans"] {
  return {
    slots: slots.requests + slots.jobs,
    under_way: Math.min(underWay.requests, slots.requests) + underWay.jobs,
    waiting: Math.max(0, underWay.requests - slots.requests),
  };
}

function shownEngine(check: EngineCheck, doctor: AdminDoctor["checks"], now: number): AdminEngine {
  const { name, ok, detail, signatureAgeSeconds: age } = check;
  const isClamd = name === "clamd";
  const product = isClamd ? CLAMD_DETAIL.exec(detail)?.[1] : undefined;
  const signatures = isClamd ? /signatures (\d+)/.exec(detail)?.[1] : undefined;
  const bad = isClamd ? doctor.filter((each) => /^clamd|^signatures$/.test(each.name) && (!each.ok || each.warn)) : [];
  return {
    name,
    ok,
    in_use: !detail.startsWith(WITHOUT),
    detail: detail.startsWith(WITHOUT) ? detail.slice(WITHOUT.length) : detail,
    ...(product !== undefined && { version: product }),
    ...(signatures !== undefined && { signatures }),
    ...(age !== undefined && { signatures_at: Math.round(now - age * 1000) }),
    problems: bad.map((each) => ({ problem: each.detail, cure: each.hint ?? "" })),
  };
}

/** Does it find what it must find, and nothing where there is nothing? Both files go to the engine as any other. */
export async function selfTest({ engine }: Pick<EngineParts, "engine">, signal: AbortSignal): Promise<AdminSelfTest> {
  const infected = await tryFile("the EICAR test file is found", EICAR.join(""), (verdict) => {
    return verdict.kind === "infected" ? verdict.finding : undefined;
  });
  // A new content each time, so that no verdict is one of before.
  const harmless = await tryFile("a harmless file is clean", `harmless ${randomUUID()}\n`, (verdict) => {
    return verdict.kind === "clean" ? "clean" : undefined;
  });
  return { ok: infected.ok && harmless.ok, checks: [infected, harmless] };

  async function tryFile(
    name: string,
    content: string,
    expected: (verdict: Verdict) => string | undefined,
  ): Promise<AdminSelfTest["checks"][number]> {
    const began = performance.now();
    const ended = (ok: boolean, detail: string): AdminSelfTest["checks"][number] => {
      return { name, ok, detail, ms: Math.round(performance.now() - began) };
    };
    try {
      const verdict = await engine.scan(wholeBytes(Buffer.from(content)), signal);
      const words = expected(verdict);
      if (words !== undefined) return ended(true, words);
      return ended(false, verdict.kind === "clean" ? "not found" : `${verdict.kind}: ${verdict.finding}`);
    } catch (error) {
      return ended(false, error instanceof Error ? error.message : String(error));
    }
  }
}
