import { Command } from "commander";
import { CannotStart } from "../compose/cannot-start.ts";
import { buffered, log } from "../log.ts";
import { engineHealth } from "../pipeline/health.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { withExamples } from "./examples.ts";
import { addSettingFlags, loadSettings } from "./load-settings.ts";
import { hangUps, runUntilSignal, stopSignal } from "./run-service.ts";

export function serveCommand(): Command {
  const command = new Command("serve");
  withExamples(command, [
    ["serve", "with LAZARET_API_KEYS and further settings in the environment"],
    ["serve --role api --port 8080", "takes requests, and leaves jobs to a worker"],
  ]);
  return addSettingFlags(command)
    .description("run the service in production: keys from LAZARET_API_KEYS, JSON log lines, every interface")
    .action(async (flags: Record<string, string>) => {
      const settings = goodSettings(flags);
      const logger = log({
        level: settings.logLevel,
        format: "json",
        write: buffered(process.stdout),
      });
      const until = stopSignal();
      const signals = hangUps();
      const { startService } = await import("../app.ts");
      const service = await startService(settings, logger);
      const checks = (await engineHealth(service.engine)).checks;
      logger("listening", {
        version,
        role: settings.role,
        host: settings.host,
        port: service.port,
        tls: settings.tlsCert !== "",
      });
      for (const check of checks)
        (check.ok ? logger : logger.error)("engine", { name: check.name, detail: check.detail });
      await runUntilSignal(service, {
        until,
        hangUps: signals,
        readKeys: () => goodSettings(flags).apiKeys,
        log: logger,
        drainSeconds: settings.drainSeconds,
      });
    });
}

/** What `serve` needs of its settings, at the start and at each SIGHUP. */
function goodSettings(flags: Record<string, string>): Settings {
  const { settings } = loadSettings(flags, {});
  if (settings.apiKeys.length === 0 && settings.awsApiKeysSecret === "" && settings.role !== "worker") {
    throw new CannotStart(
      "no API key is set",
      "set LAZARET_API_KEYS to one or more secrets (openssl rand -hex 24 makes a good one), or use lazaret dev",
    );
  }
  if ((settings.tlsCert === "") !== (settings.tlsKey === "")) {
    throw new CannotStart("one of LAZARET_TLS_CERT and LAZARET_TLS_KEY is missing", "set both, or neither");
  }
  return settings;
}
