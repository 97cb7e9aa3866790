import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { startKeeper } from "../compose/own-clamd.ts";
import { findClamd } from "../engines/clamd/address.ts";
import { databasesIn } from "../engines/clamd/databases.ts";
import { clamdBinary } from "../engines/clamd/own-clamd.ts";
import { log } from "../log.ts";
import { engineHealth } from "../pipeline/health.ts";
import type { EngineCheck } from "../scan/engine.ts";
import { listenPlace } from "../settings/console-settings.ts";
import { settingsFacts } from "../settings/settings-facts.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { devKey } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { addSettingFlags, loadSettings } from "./load-settings.ts";
import { type LoginLink, loginLink } from "./login-link.ts";
import { hangUps, keysOf, runUntilSignal, stopSignal } from "./run-service.ts";

/** What `dev` has in place of the table's defaults. */
const DEFAULTS = {
  host: "127.0.0.1",
  allowNetworks: "127.0.0.0/8,::1/128",
  allowHttpCallbacks: "true",
  signCallbackInvocations: "true",
};
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
      const hasConsole = settings.console === "on" && settings.role !== "worker";
      const ownAdminKey = hasConsole && settings.adminKeys.length === 0 ? devKey(settings.dataDir, "admin") : undefined;
      const link = hasConsole ? loginLink() : undefined;
      const logger = log({ level: settings.logLevel, format: "text", write: (line) => process.stderr.write(line) });
      const withOwn = needsOwnClamd(settings) ? { ...(await withSignatures(settings)), clamd: "own" } : undefined;
      await using keeper = withOwn && startKeeper(withOwn, logger);
      await keeper?.started;
      const started = {
        ...(withOwn ?? settings),
        ...(ownKey && { apiKeys: [ownKey] }),
        ...(ownAdminKey && { adminKeys: [ownAdminKey] }),
      };
      const running = {
        until,
        hangUps: signals,
        readKeys() {
          const { apiKeys, adminKeys, viewerKeys } = loadSettings(flags, DEFAULTS).settings;
          const own = ownAdminKey ? [ownAdminKey] : [];
          return {
            apiKeys: apiKeys.length > 0 ? apiKeys : [devKey(settings.dataDir)],
            adminKeys: adminKeys.length > 0 ? adminKeys : own,
            viewerKeys,
          };
        },
        startKeys: keysOf(started),
        log: logger,
        drainSeconds: settings.drainSeconds,
        alsoStop: async () => keeper?.[Symbol.asyncDispose](),
      };
      const { startService } = await import("../app.ts");
      const service = await startService(started, logger, {
        allowShortKeys: true,
        ...(link && { useLink: link.use }),
        facts: settingsFacts(started, origins),
        doctor: async () => (await import("./doctor.ts")).consoleChecks(started),
      });
      const { port, adminPort } = service;
      const { checks } = await engineHealth(service.engine);
      process.stdout.write(banner({ settings, port, adminPort, ownKey, link, checks }));
      await runUntilSignal(service, running);
    });
}

/** Where it is asked for, and for engine Q with no clamd running, on a machine that has one to run. */
function needsOwnClamd({ engine, clamd }: Settings): boolean {
  if (clamd === "own") return true;
  return engine === "Q" && clamd === "auto" && !findClamd() && clamdBinary() !== undefined;
}

/** What clamd knows without freshclam is enough to try things out. */
async function withSignatures(settings: Settings): Promise<Settings> {
  const found = await databasesIn(settings.signaturesDir).catch(() => []);
  if (found.length > 0) return settings;
  process.stderr.write(
    `lazaret: no ClamAV signatures in ${settings.signaturesDir}: clamd will know test files only\n` +
      "hint: run freshclam to fetch them\n",
  );
  return { ...settings, signaturesDir: TEST_SIGNATURES };
}

interface BannerFacts {
  settings: Settings;
  port: number;
  /** Where the console is, if it has a listener of its own. */
  adminPort: number | undefined;
  /** The key that `lazaret dev` made itself. A configured one is a secret of its owner, and is not shown. */
  ownKey: string | undefined;
  /** Undefined where there is no console. */
  link: LoginLink | undefined;
  checks: readonly EngineCheck[];
}

/** What `lazaret dev` prints when it is ready: where it is, what it knows, and lines to paste. */
function banner({ settings, port, adminPort, ownKey, link, checks }: BannerFacts): string {
  const scheme = settings.tlsCert === "" ? "http" : "https";
  const urlOf = (host: string, at: number): string => `${scheme}://${host.includes(":") ? `[${host}]` : host}:${at}`;
  const url = urlOf(settings.host, port);
  const console = adminPort === undefined ? url : urlOf(listenPlace(settings.adminListen)?.host ?? "", adminPort);
  // The EICAR test file in two halves, so that no antivirus trips over this file or over a terminal's scroll-back.
  const eicar = String.raw`'X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR' '-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'`;
  return `
Lazaret ${version} is ready at ${url}
engine ${settings.engine}
${checks.map((check) => `  ${check.ok ? "ok  " : "FAIL"} ${check.name}: ${check.detail}`).join("\n")}
${link ? `\nSee it in a browser (this link logs in once, within 10 minutes):\n\n  ${console}${link.path}\n` : ""}
${ownKey ? "Paste this" : "Paste this with one of the keys in LAZARET_API_KEYS"}, then one of the lines below it:

  export LAZARET_URL=${url} LAZARET_API_KEY=${ownKey ?? "YOUR_KEY"}

Scan a file:

  curl -H "Authorization: Bearer $LAZARET_API_KEY" -F file=@/etc/hosts $LAZARET_URL/api/v1/scan/sync/form

Scan the harmless EICAR test file, which every scanner calls infected:

  printf '%s%s' ${eicar} | curl -H "Authorization: Bearer $LAZARET_API_KEY" -H "Content-Type: application/octet-stream" --data-binary @- $LAZARET_URL/api/v1/scan/sync/binary

All endpoints: ${url}/docs    Stop: Ctrl-C

`;
}
