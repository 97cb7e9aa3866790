import { Command } from "commander";
import { startService } from "../app.ts";
import { CannotStart } from "../compose/cannot-start.ts";
import { gathered, log } from "../log.ts";
import { version } from "../version.ts";
import { loadSettings } from "./load-settings.ts";
import { runUntilSignal, stopSignal } from "./run-service.ts";
import { addSettingFlags } from "./setting-flags.ts";

export function serveCommand(): Command {
  return addSettingFlags(new Command("serve"))
    .description("run the service in production: keys from LAZARET_API_KEYS, JSON log lines, every interface")
    .action(async (flags: Record<string, string>) => {
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
      const say = log({
        level: settings.logLevel,
        format: "json",
        write: gathered((text) => process.stdout.write(text)),
      });
      const until = stopSignal();
      const service = await startService(settings, say);
      const health = await service.engine.health(AbortSignal.timeout(5000));
      say("listening", {
        version,
        role: settings.role,
        host: settings.host,
        port: service.port,
        tls: settings.tlsCert !== "",
      });
      for (const check of health.checks)
        (check.ok ? say : say.error)("engine", { name: check.name, detail: check.detail });
      await runUntilSignal(service, { until, log: say });
    });
}
