import { readFileSync } from "node:fs";
import { Agent as HttpsAgent } from "node:https";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import { Agent as HttpAgent } from "../net/node-http.ts";
import type { TracesAsked } from "./otel-environment.ts";

/** Sends spans to a collector; what is under way when it is cut ends at once. */
export interface CutExporter {
  exporter: SpanExporter;
  cut(): void;
}

/**
 * OpenTelemetry's own reads endpoint, headers, time limit and compression from the environment, and tries again what the collector may
 * take later. It cannot be stopped in the middle of that: its connections are made here, so that they can be.
 */
export async function cutExporter(protocol: TracesAsked["protocol"]): Promise<CutExporter> {
  const { OTLPTraceExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-trace-otlp-http")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  const agents: { destroy(): void }[] = [];
  let isCut = false;
  const exporter = new OTLPTraceExporter({
    httpAgentOptions: (scheme) => {
      const agent =
        scheme === "https:" ? new HttpsAgent({ keepAlive: true, ...identity() }) : new HttpAgent({ keepAlive: true });
      agents.push(agent);
      return agent;
    },
    // Asked for before each try.
    headers: async () => {
      if (isCut) throw new Error("the service has ended");
      return {};
    },
  });
  return {
    exporter,
    cut() {
      isCut = true;
      for (const agent of agents) agent.destroy();
    },
  };
}

/** Whom we believe to be the collector, and what we show to it. A file that is named and cannot be read is thrown. */
function identity(): { ca?: Buffer; cert?: Buffer; key?: Buffer } {
  const file = (name: string): Buffer | undefined => {
    const path = process.env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || process.env[`OTEL_EXPORTER_OTLP_${name}`];
    return path ? readFileSync(path) : undefined;
  };
  const [ca, cert, key] = [file("CERTIFICATE"), file("CLIENT_CERTIFICATE"), file("CLIENT_KEY")];
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}
