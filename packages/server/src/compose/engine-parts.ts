import { findClamd, parseClamdAddress } from "../engines/clamd/address.ts";
import type { ThreadsEvent } from "../engines/threads/scan-threads.ts";
import type { VariantParts } from "../engines/variants.ts";
import type { Log } from "../log.ts";
import type { Settings } from "../settings.ts";
import { CannotStart } from "./cannot-start.ts";

/** Which engine the settings ask for. */
export function engineParts(settings: Settings, concurrency: number, log: Log): VariantParts {
  const { engine: variant, clamd: setting, rulesDir, packedPrograms } = settings;
  const clamd = setting === "auto" ? findClamd() : parseClamdAddress(setting);
  const onEvent = (event: ThreadsEvent): void => logThreads(log, event);
  if (variant === "P") {
    return { variant, clamd, concurrency, rules: { ...(rulesDir !== "" && { rulesDir }), packedPrograms, onEvent } };
  }
  // clamd undoes packers by itself, and there is nobody else to show the program to.
  if (clamd) return { variant, clamd, concurrency, unpacking: { packedPrograms: "clean", onEvent } };
  throw new CannotStart(
    setting === "none"
      ? "engine Q needs clamd, and LAZARET_CLAMD is none"
      : "no clamd socket in any of the usual places",
    "start clamd (Debian: apt-get install clamav-daemon), say where it listens (LAZARET_CLAMD=unix:/path/clamd.ctl), or use LAZARET_ENGINE=P to scan with the built-in rules alone",
  );
}

function logThreads(log: Log, event: ThreadsEvent): void {
  if (event.kind === "rules-loaded") {
    log("rules-loaded", { rules: event.rules, own: event.own, warnings: event.warnings.join("; ") || undefined });
  } else log.error(event.kind, { message: event.message });
}
