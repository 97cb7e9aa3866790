import type { Log } from "../log.ts";
import type { Settings } from "../settings.ts";
import type { Traces } from "../traces/open-telemetry.ts";
import { readTraces } from "../traces/otel-environment.ts";
import { version } from "../version.ts";

/** By the name that OpenTelemetry's conventions have for it, where they have one. */
const messagingSystems = { embedded: "sqlite", postgres: "postgresql", aws: "aws_sqs" };

/** Undefined where nobody asked for them; then nothing of OpenTelemetry is loaded. What is wrong with them keeps no service from starting. */
export async function startTraces(
  settings: Pick<Settings, "role" | "platform">,
  log: Log,
): Promise<Traces | undefined> {
  const asked = readTraces(process.env);
  if (asked.kind === "off") return undefined;
  if (asked.kind === "refused") {
    log.error("traces", { error: `no traces are sent: ${asked.error}`, hint: asked.hint });
    return undefined;
  }
  const { endpoint, protocol, passedOver } = asked;
  for (const error of passedOver) log.error("traces", { error });
  const { openTelemetry } = await import("../traces/open-telemetry.ts");
  const { role, platform } = settings;
  const traces = await openTelemetry({ ...asked, role, messagingSystem: messagingSystems[platform], version, log });
  log("traces", { endpoint, protocol });
  return traces;
}
