import { findClamd, parseClamdAddress } from "../engines/clamd/address.ts";
import type { RulesEvent } from "../engines/rules/rules-engine.ts";
import type { VariantParts } from "../engines/variants.ts";
import type { Log } from "../log.ts";
import type { Settings } from "../settings.ts";
import { CannotStart } from "./cannot-start.ts";

/** Which engine the settings ask for. */
export function engineParts(settings: Settings, concurrency: number, log: Log): VariantParts {
  const { engine: variant, clamd: setting, rulesDir } = settings;
  const clamd = setting === "auto" ? findClamd() : parseClamdAddress(setting);
  if (variant === "P") {
    const rules = { ...(rulesDir !== "" && { rulesDir }), onEvent: (event: RulesEvent) => logRules(log, event) };
    return { variant, clamd, concurrency, rules };
  }
  if (clamd) return { variant, clamd, concurrency };
  throw new CannotStart(
    setting === "none"
      ? "engine Q needs clamd, and LAZARET_CLAMD is none"
      : "no clamd socket in any of the usual places",
    "start clamd (Debian: apt-get install clamav-daemon), say where it listens (LAZARET_CLAMD=unix:/path/clamd.ctl), or use LAZARET_ENGINE=P to scan with the built-in rules alone",
  );
}

function logRules(log: Log, event: RulesEvent): void {
  if (event.kind === "rules-loaded") {
    log("rules-loaded", { rules: event.rules, own: event.own, warnings: event.warnings.join("; ") || undefined });
  } else log.error(event.kind, { message: event.message });
}
