import { inBothDialects } from "./dialect.ts";
import type { Answer } from "./exchange.ts";
import { renderedOnce } from "./http/answer-body.ts";
import { tryLater } from "./problem.ts";
import { docsPage } from "./reference/docs-page.ts";
import { openApi } from "./reference/openapi.ts";
import type { Route, RouteDoc } from "./route.ts";

export interface ReadinessCheck {
  name: string;
  ok: boolean;
  detail: string;
}

export interface ServiceRoutesOptions {
  version: string;
  /** Asked by /readyz; never throws. */
  readiness(): Promise<{ ready: boolean; checks: readonly ReadinessCheck[] }>;
  metrics(): Promise<string>;
  /** The endpoints of the API, for its document. */
  routes: readonly Route[];
}

const METRICS = "text/plain; version=0.0.4; charset=utf-8";

const alive: Omit<RouteDoc, "summary" | "example"> = {
  group: "Service",
  success: { status: 204, description: "The process answers." },
  errors: {},
};

export function serviceRoutes({ version, readiness, metrics, routes }: ServiceRoutesOptions): Route[] {
  let counted: { text: string; answer: Answer } | undefined;
  const service: Route[] = inBothDialects([
    {
      method: "GET",
      path: "/api/v1/test",
      doc: {
        group: "Service",
        summary: "Confirm that the bearer secret is valid",
        success: { status: 204, description: "It is." },
        errors: { 401: ["invalid_api_key"] },
        example: 'curl -i -H "Authorization: Bearer $LAZARET_API_KEY" $LAZARET_URL/api/v1/test',
      },
      handle: async () => ({ status: 204 }),
    },
    ...["/healthz", "/livez"].map(
      (path): Route => ({
        method: "GET",
        path,
        open: true,
        routine: true,
        doc: { ...alive, summary: "Is the process alive?", example: `curl -i $LAZARET_URL${path}` },
        handle: async () => ({ status: 204 }),
      }),
    ),
    {
      method: "GET",
      path: "/readyz",
      open: true,
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
      async handle(request) {
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
    },
    {
      method: "GET",
      path: "/metrics",
      open: true,
      routine: true,
      doc: {
        ...alive,
        summary: "Counters and gauges, as Prometheus reads them",
        success: { status: 200, description: "The metrics.", contentType: METRICS },
        example: "curl $LAZARET_URL/metrics",
      },
      async handle() {
        const text = await metrics();
        if (text !== counted?.text) {
          const answer = renderedOnce({ status: 200, text, headers: { "Content-Type": METRICS } });
          counted = { text, answer };
        }
        return counted.answer;
      },
    },
  ]);

  const documented = [...routes, ...service];
  const document = renderedOnce({ status: 200, json: openApi(documented, version) });
  const page = renderedOnce(docsPage(documented, version));
  return [
    ...service,
    {
      method: "GET",
      path: "/openapi.json",
      open: true,
      doc: {
        ...alive,
        summary: "This API, as OpenAPI 3.1",
        success: { status: 200, description: "The document." },
        example: "curl $LAZARET_URL/openapi.json",
      },
      handle: async () => document,
    },
    {
      method: "GET",
      path: "/docs",
      open: true,
      doc: {
        ...alive,
        summary: "This API, for people",
        success: { status: 200, description: "The page." },
        example: "curl $LAZARET_URL/docs",
      },
      handle: async () => page,
    },
  ];
}
