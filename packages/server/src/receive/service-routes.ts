import { type Feature, featuresOf, type Installation, type VersionAnswer } from "@lazaret/contract";
import { tryLater } from "./problem.ts";
import { type Answer, renderedOnce } from "./request-answer.ts";
import type { Endpoint, Handle, RouteDoc } from "./route.ts";

export interface ReadinessCheck {
  name: string;
  ok: boolean;
  detail: string;
}

export interface ServiceHandlersOptions {
  /** Asked by /readyz; never throws. */
  readiness(): Promise<{ ready: boolean; checks: readonly ReadinessCheck[] }>;
  metrics(): Promise<MetricsText>;
}

/** For everybody, and for who may know which tenants there are. The same object as long as nothing has changed. */
interface MetricsText {
  open: string;
  tenants: string;
}

type ServiceEndpoint = "test" | "healthz" | "livez" | "readyz" | "metrics" | "tenantMetrics";

const METRICS = "text/plain; version=0.0.4; charset=utf-8";

const alive: Omit<RouteDoc, "example"> = {
  group: "Service",
  summary: "Is the process alive?",
  success: { status: 204, description: "The process answers." },
  errors: {},
};

export const serviceEndpoints: Record<ServiceEndpoint, Endpoint> = {
  test: {
    doc: {
      group: "Service",
      summary: "Confirm that the bearer secret is valid",
      success: { status: 204, description: "The secret is valid." },
      errors: { 401: ["invalid_api_key"] },
      example: 'curl -i -H "Authorization: Bearer $LAZARET_API_KEY" $LAZARET_URL/api/v1/test',
    },
  },
  healthz: { routine: true, doc: { ...alive, example: "curl -i $LAZARET_URL/healthz" } },
  livez: { routine: true, doc: { ...alive, example: "curl -i $LAZARET_URL/livez" } },
  readyz: {
    routine: true,
    doc: {
      group: "Service",
      summary: "Is the service ready to scan?",
      description: "Asks the engine. `?verbose` lists the checks.",
      query: { verbose: { description: "List the checks.", schema: { type: "string" } } },
      success: { status: 204, description: "Ready." },
      also: { 200: "Ready, with `?verbose`: the checks." },
      errors: { 503: ["not_ready"] },
      example: "curl -i '$LAZARET_URL/readyz?verbose'",
    },
  },
  metrics: {
    routine: true,
    doc: {
      group: "Service",
      summary: "Counters and gauges, as Prometheus reads them",
      success: { status: 200, description: "The metrics.", contentType: METRICS },
      errors: {},
      example: "curl $LAZARET_URL/metrics",
    },
  },
  tenantMetrics: {
    routine: true,
    doc: {
      group: "Service",
      summary: "Counters by tenant, as Prometheus reads them",
      description: "200 tenants and 1,000 keys have a label of their own; the rest are `other`.",
      success: { status: 200, description: "The metrics.", contentType: METRICS },
      errors: { 401: ["invalid_api_key"] },
      example: 'curl -H "Authorization: Bearer $LAZARET_API_KEY" $LAZARET_URL/metrics/tenants',
    },
  },
};

export function serviceHandlers({ readiness, metrics }: ServiceHandlersOptions): Record<ServiceEndpoint, Handle> {
  let counted: { text: MetricsText; answer: Answer } | undefined;
  return {
    test: async () => ({ status: 204 }),
    healthz: async () => ({ status: 204 }),
    livez: async () => ({ status: 204 }),
    async readyz(request) {
      const state = await readiness();
      if (request.query.has("verbose")) {
        return {
          status: state.ready ? 200 : 503,
          headers: state.ready ? {} : { "Retry-After": "5" },
          json: { ready: state.ready, checks: state.checks },
        };
      }
      if (state.ready) return { status: 204 };
      throw tryLater("not_ready", "the service is not ready to scan", "ask /readyz?verbose for the reason");
    },
    async metrics() {
      const text = await metrics();
      if (text !== counted?.text) {
        const answer = renderedOnce({ status: 200, text: text.open, headers: { "Content-Type": METRICS } });
        counted = { text, answer };
      }
      return counted.answer;
    },
    async tenantMetrics() {
      return { status: 200, text: (await metrics()).tenants, headers: { "Content-Type": METRICS } };
    },
  };
}

export interface VersionHandlersOptions {
  /** Of the server itself. */
  version: string;
  installation: Installation;
}

/** What this installation is and can, for clients that talk to several; no secret, so no key is asked for. */
export const versionEndpoints: Record<"version", Endpoint> = {
  version: {
    doc: {
      group: "Service",
      summary: "Versions of this installation, and the features they have",
      description:
        "JSON: `version` of the server, `async_add_on`, `sync_add_on`, `engine` (`variant` and `version`) and `features`, a sorted list of names.",
      success: {
        status: 200,
        description: "Versions and features.",
        example: {
          version: "0.1.0",
          async_add_on: "2.12.0",
          sync_add_on: "2.13.0",
          engine: { variant: "P", version: "3.0.0" },
          features: ["test", "topic.json"],
        },
      },
      errors: {},
      example: "curl $LAZARET_URL/version",
    },
  },
};

export function versionHandlers({ version, installation }: VersionHandlersOptions): Record<"version", Handle> {
  const { asyncAddOn, syncAddOn, variant, engineVersion } = installation;
  const features = Object.entries(featuresOf(installation)).flatMap(([name, there]) => (there ? name : []));
  const json: VersionAnswer = {
    version,
    async_add_on: asyncAddOn,
    sync_add_on: syncAddOn,
    engine: { variant, version: engineVersion },
    features: features.sort() as Feature[],
  };
  const answer = renderedOnce({ status: 200, json });
  return { version: async () => answer };
}
