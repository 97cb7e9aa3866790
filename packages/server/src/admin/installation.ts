import { availableParallelism, freemem, totalmem } from "node:os";
import type { AdminDoctor, AdminJobCounts, AdminSettings } from "@lazaret/contract/admin";
import { Problem } from "../receive/problem.ts";
import type { Answer } from "../receive/request-answer.ts";
import type { Activity } from "./activity.ts";

export interface InstallationParts {
  version: string;
  platform: string;
  role: string;
  /** Secrets masked. */
  settings: AdminSettings["settings"];
  /** Undefined where nobody can say, such as in a service that no command started. */
  doctor: (() => Promise<AdminDoctor["checks"]>) | undefined;
  readiness(): Promise<{ ready: boolean; checks: readonly { name: string; ok: boolean; detail: string }[] }>;
  counts(): Promise<AdminJobCounts>;
  activity: Pick<Activity, "show">;
  now(): number;
}

export function showSettings({ version, settings }: InstallationParts): AdminSettings {
  return { version, settings: [...settings] };
}

export async function showDoctor({ doctor }: Pick<InstallationParts, "doctor">): Promise<AdminDoctor> {
  if (!doctor) throw new Problem(404, "not_found", { message: "there is no doctor here", hint: "run lazaret doctor" });
  const checks = await doctor();
  return { ok: checks.every(({ ok }) => ok), checks };
}

/** What helps somebody from afar: no keys, no names of files, nothing of jobs but how many there are. */
export async function supportBundle(parts: InstallationParts): Promise<Answer> {
  const { version, platform, role, settings, activity, now } = parts;
  const orWhy = <T>(asked: Promise<T>): Promise<T | { error: string }> =>
    asked.catch((error: Error) => ({ error: error.message }));
  const jobs = await orWhy(parts.counts());
  const none: AdminJobCounts = { queued: 0, under_way: 0, retrying: 0, done: 0, dead: 0, oldest_seconds: 0 };
  const bundle = {
    made_at: new Date(now()).toISOString(),
    version,
    platform,
    role,
    node: process.version,
    machine: {
      platform: process.platform,
      arch: process.arch,
      cores: availableParallelism(),
      memory_bytes: totalmem(),
      free_memory_bytes: freemem(),
    },
    process: { uptime_seconds: Math.round(process.uptime()), memory: process.memoryUsage() },
    readiness: await parts.readiness(),
    doctor: parts.doctor ? await orWhy(parts.doctor()) : [],
    jobs,
    scans: activity.show("24h", none).last_day,
    settings,
  };
  return {
    status: 200,
    headers: { "Content-Disposition": 'attachment; filename="lazaret-support.json"' },
    json: bundle,
  };
}
