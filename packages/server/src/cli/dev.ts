import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { findClamd } from "../engines/clamd/address.ts";
import { clamdBinary, type OwnClamd, ownClamd } from "../engines/clamd/own-clamd.ts";
import { log } from "../log.ts";
import type { Settings } from "../settings.ts";
import { withExamples } from "./examples.ts";
import { loadSettings } from "./flags/load-settings.ts";
import { addSettingFlags } from "./flags/setting-flags.ts";
import { devKey } from "./reach/dev-key.ts";
import { banner } from "./service/banner.ts";
import { hangUps, runUntilSignal, stopSignal } from "./service/run-service.ts";

/** What `dev` has in place of the table's defaults. */
const DEFAULTS = {
  host: "127.0.0.1",
  allowNetworks: "127.0.0.0/8,::1/128",
  allowHttpCallbacks: "true",
  signCallbackInvocations: "true",
};
/** Where Debian's freshclam puts ClamAV's official signatures. */
const OFFICIAL_SIGNATURES = "/var/lib/clamav";
const TEST_SIGNATURES = fileURLToPath(new URL("../../signatures", import.meta.url));

export function devCommand(): Command {
  const command = new Command("dev");
  withExamples(command, [
    ["dev", "on http://127.0.0.1:8040; prints lines to paste"],
    ["dev --port 9000 --engine Q", "clamd alone; starts one if none runs"],
  ]);
  return addSettingFlags(command)
    .description("run the service for trying it out: a key of its own, loopback only, loopback allowed as a target")
    .action(async (flags: Record<string, string>) => {
      const { settings: loaded, origins } = loadSettings(flags, DEFAULTS);
      const { allowNetworks, allowHosts } = loaded;
      const settings = {
        ...loaded,
        ...(origins.allowCallbackNetworks === "default" && { allowCallbackNetworks: allowNetworks }),
        ...(origins.allowCallbackHosts === "default" && { allowCallbackHosts: allowHosts }),
      };
      const until = stopSignal();
      const signals = hangUps();
      const ownKey = settings.apiKeys.length === 0 ? devKey(settings.dataDir) : undefined;
      const clamd = needsOwnClamd(settings) ? await startOwnClamd(settings.dataDir) : undefined;
      const say = log({ level: settings.logLevel, format: "text", write: (line) => process.stderr.write(line) });
      const { startService } = await import("../app.ts");
      const service = await startService(
        { ...settings, ...(ownKey && { apiKeys: [ownKey] }), ...(clamd && { clamd: `unix:${clamd.socketPath}` }) },
        say,
        { allowShortKeys: true },
      );
      const health = await service.engine.health(AbortSignal.timeout(5000));
      process.stdout.write(banner({ settings, port: service.port, ownKey, checks: health.checks }));
      await runUntilSignal(service, {
        until,
        hangUps: signals,
        readKeys() {
          const { apiKeys } = loadSettings(flags, DEFAULTS).settings;
          return apiKeys.length > 0 ? apiKeys : [devKey(settings.dataDir)];
        },
        log: say,
        drainSeconds: settings.drainSeconds,
        alsoStop: async () => clamd?.stop(),
      });
    });
}

/** Engine Q with no clamd running, on a machine that has one to run. */
function needsOwnClamd(settings: Settings): boolean {
  return settings.engine === "Q" && settings.clamd === "auto" && !findClamd() && clamdBinary() !== undefined;
}

async function startOwnClamd(dataDir: string): Promise<OwnClamd> {
  const official =
    existsSync(OFFICIAL_SIGNATURES) && (await readdir(OFFICIAL_SIGNATURES)).some((name) => /\.c[vl]d$/.test(name));
  if (!official) {
    process.stderr.write(
      "lazaret: no official ClamAV signatures on this machine: clamd will know test files only\n" +
        "hint: run freshclam to fetch them\n",
    );
  }
  return ownClamd({
    folder: join(dataDir, "clamd"),
    signaturesDir: official ? OFFICIAL_SIGNATURES : TEST_SIGNATURES,
  });
}
