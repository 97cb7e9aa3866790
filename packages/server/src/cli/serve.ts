import { Command } from "commander";
import { CannotStart } from "../compose/cannot-start.ts";
import type { KeysOfSettings } from "../compose/console.ts";
import { startKeeper } from "../compose/own-clamd.ts";
import { afterwards } from "../flow/afterwards.ts";
import { buffered, type Log, log, outputLines } from "../log.ts";
import { engineHealth } from "../pipeline/health.ts";
import type { EngineCheck } from "../scan/engine.ts";
import { settingsFacts } from "../settings/settings-facts.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { withExamples } from "./examples.ts";
import { addSettingFlags, type LoadedSettings, loadSettings } from "./load-settings.ts";
import { hangUps, keysOf, runUntilSignal, stopSignal } from "./run-service.ts";
import { type ServiceManager, serviceManager } from "./service-manager.ts";

export function serveCommand(): Command {
  const command = new Command("serve");
  withExamples(command, [
    ["serve", "with keys that lazaret keys create made, or LAZARET_API_KEYS in the environment"],
    ["serve --role api --port 8080", "takes requests, and leaves jobs to a worker"],
  ]);
  return addSettingFlags(command)
    .description(
      "run the service in production: keys that were made or set in LAZARET_API_KEYS, JSON log lines, every interface",
    )
    .action(async (flags: Record<string, string>) => {
      const { settings, origins } = goodSettings(flags);
      const after = afterwards();
      const write = buffered(outputLines(process.stdout), after);
      const logger = log({ level: settings.logLevel, format: "json", write, after });
      const manager = serviceManager(logger);
      const until = stopSignal();
      const signals = hangUps();
      const { drainSeconds } = settings;
      const startKeys = keysOf(settings);
      const readKeys = (): KeysOfSettings => {
        const keys = keysOf(goodSettings(flags).settings);
        if (keys.apiKeys.length > 0 || startKeys.apiKeys.length === 0) return keys;
        throw new CannotStart("no API key is set", "a file of keys that is empty may be one that is being written");
      };
      await using keeper = settings.clamd === "own" ? startKeeper(settings, logger) : undefined;
      const alsoStop = async (): Promise<void> => keeper?.[Symbol.asyncDispose]();
      const running = { until, hangUps: signals, readKeys, startKeys, log: logger, drainSeconds, manager, alsoStop };
      const { startService } = await import("../app.ts");
      const service = await startService(settings, logger, {
        after,
        facts: settingsFacts(settings, origins),
        doctor: async () => (await import("./doctor.ts")).consoleChecks(settings),
      });
      const { checks } = await engineHealth(service.engine);
      const { port, adminPort } = service;
      announce(running, { settings, port, adminPort, checks });
      await runUntilSignal(service, running);
    });
}

interface Listening {
  settings: Settings;
  port: number;
  adminPort: number | undefined;
  checks: readonly EngineCheck[];
}

function announce({ log, manager }: { log: Log; manager: ServiceManager }, listening: Listening): void {
  const { settings, port, adminPort, checks } = listening;
  const { role, host, tlsCert } = settings;
  log("listening", { version, role, host, port, admin_port: adminPort, tls: tlsCert !== "" });
  // Also where the engine is not ready yet: clamd takes minutes, and clients are told what is missing.
  manager.ready(`listening on ${host}:${port}`);
  for (const check of checks) (check.ok ? log : log.error)("engine", { name: check.name, detail: check.detail });
}

/** What `serve` needs of its settings, at the start and at each SIGHUP. */
function goodSettings(flags: Record<string, string>): LoadedSettings {
  const loaded = loadSettings(flags, {});
  const { settings } = loaded;
  if ((settings.tlsCert === "") !== (settings.tlsKey === "")) {
    throw new CannotStart("one of LAZARET_TLS_CERT and LAZARET_TLS_KEY is missing", "set both, or neither");
  }
  return loaded;
}
