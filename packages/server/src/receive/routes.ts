import type { Scope } from "../access/access-store.ts";
import { asyncEndpoints, RESULT_PATH } from "./async-routes.ts";
import { consoleFilesEndpoint } from "./console/console-files.ts";
import { consoleEndpoints } from "./console/endpoints.ts";
import { aliases, dialectOf } from "./dialect.ts";
import { familyEndpoints } from "./family-routes.ts";
import { keyEndpoints } from "./key-routes.ts";
import { objectLinkEndpoints } from "./object-link-routes.ts";
import { docsPage } from "./reference/docs-page.ts";
import { openApi } from "./reference/openapi.ts";
import { pageFiles } from "./reference/page-files.ts";
import { type Answer, renderedOnce } from "./request-answer.ts";
import type { DescribedEndpoint, Endpoint, Handle, PlacedEndpoint, Route } from "./route.ts";
import { serviceEndpoints, versionEndpoints } from "./service-routes.ts";
import { syncEndpoints } from "./sync-routes.ts";

/**
 * Every route of the service. `open` answers without an API key, `key` with any, the others with one of that scope (`results`: of any
 * that leads to some); `api` is not there on a worker. `scans` is there where files are
 * scanned while the request waits (not in a function), `folders` where buckets are folders of this installation, `console` where
 * there is one, `admin` where it has something to show. Those under /api/v1/ have other names, too: dialect.ts adds them.
 *
 * What is `looks` or `acts` only a key of the console opens, or a session that was made with one: to look, or to do something, which the
 * audit log then has. No other key does, whatever its scopes.
 */
// biome-ignore format: a table
const table: readonly Line[] = [
  // method  path                                          key        role   where         endpoint
  ["POST", "/api/v1/scan/async/download",                 "scan",    "api", "everywhere", "asyncDownload"],
  ["POST", "/api/v1/scan/async/objstore",                 "objects", "api", "everywhere", "asyncObject"],
  ["GET",  RESULT_PATH,                                   "results", "api", "everywhere", "asyncResult"],
  ["POST", "/api/v1/scan/sync/download",                  "scan",    "api", "scans",      "syncDownload"],
  ["POST", "/api/v1/scan/sync/binary",                    "scan",    "api", "scans",      "syncBinary"],
  ["POST", "/api/v1/scan/sync/form",                      "scan",    "api", "scans",      "syncForm"],
  ["POST", "/api/v1/scan/sync/objstore",                  "objects", "api", "scans",      "syncObject"],
  ["GET",  "/v1/whoami",                                  "key",     "api", "everywhere", "whoami"],
  ["GET",  "/v1/usage",                                   "read",    "api", "everywhere", "usage"],
  ["GET",  "/v1/callback/failures",                       "read",    "api", "everywhere", "callbackFailures"],
  ["GET",  "/.well-known/lazaret/callback-key.pem",       "open",    "api", "everywhere", "callbackKey"],
  ["GET",  "/.well-known/lazaret/callback-key.pkcs1.pem", "open",    "api", "everywhere", "callbackKeyPkcs1"],
  ["GET",  "/objects/*",                                  "open",    "api", "folders",    "objectLink"],
  ["GET",  "/version",                                    "open",    "any", "everywhere", "version"],
  ["GET",  "/api/v1/test",                                "key",     "any", "everywhere", "test"],
  ["GET",  "/healthz",                                    "open",    "any", "everywhere", "healthz"],
  ["GET",  "/livez",                                      "open",    "any", "everywhere", "livez"],
  ["GET",  "/readyz",                                     "open",    "any", "everywhere", "readyz"],
  ["GET",  "/metrics",                                    "open",    "any", "everywhere", "metrics"],
  ["GET",  "/metrics/tenants",                            "viewer",  "any", "everywhere", "tenantMetrics"],
  ["POST", "/admin/v1/login",                             "open",    "api", "console",    "adminLogin"],
  ["POST", "/admin/v1/logout",                            "open",    "api", "console",    "adminLogout"],
  ["GET",  "/admin/v1/session",                           "looks",   "api", "console",    "adminSession"],
  ["GET",  "/admin/v1/jobs",                              "looks",   "api", "admin",      "adminJobs"],
  ["GET",  "/admin/v1/jobs/counts",                       "looks",   "api", "admin",      "adminJobCounts"],
  ["GET",  "/admin/v1/jobs/export",                       "looks",   "api", "admin",      "adminJobExport"],
  ["GET",  "/admin/v1/jobs/:id",                          "looks",   "api", "admin",      "adminJob"],
  ["POST", "/admin/v1/jobs/:id/callback",                 "acts",    "api", "admin",      "adminSendCallback"],
  ["POST", "/admin/v1/jobs/:id/rescan",                   "acts",    "api", "admin",      "adminRescan"],
  ["GET",  "/admin/v1/findings",                          "looks",   "api", "admin",      "adminFindings"],
  ["GET",  "/admin/v1/findings/groups",                   "looks",   "api", "admin",      "adminFindingGroups"],
  ["GET",  "/admin/v1/findings/export",                   "looks",   "api", "admin",      "adminFindingExport"],
  ["GET",  "/admin/v1/dead-letters",                      "looks",   "api", "admin",      "adminDeadLetters"],
  ["GET",  "/admin/v1/dead-letters/receivers",            "looks",   "api", "admin",      "adminReceivers"],
  ["GET",  "/admin/v1/dead-letters/export",               "looks",   "api", "admin",      "adminDeadLetterExport"],
  ["POST", "/admin/v1/dead-letters/redrive",              "acts",    "api", "admin",      "adminRedrive"],
  ["POST", "/admin/v1/dead-letters/delete",               "acts",    "api", "admin",      "adminDeleteLetters"],
  ["GET",  "/admin/v1/tasks",                             "looks",   "api", "admin",      "adminTasks"],
  ["GET",  "/admin/v1/tasks/:id",                         "looks",   "api", "admin",      "adminTask"],
  ["POST", "/admin/v1/tasks/:id/stop",                    "acts",    "api", "admin",      "adminStopTask"],
  ["GET",  "/admin/v1/activity",                          "looks",   "api", "admin",      "adminActivity"],
  ["POST", "/admin/v1/scan/upload",                       "acts",    "api", "admin",      "adminScanUpload"],
  ["POST", "/admin/v1/scan/url",                          "acts",    "api", "admin",      "adminScanUrl"],
  ["POST", "/admin/v1/scan/object",                       "acts",    "api", "admin",      "adminScanObject"],
  ["GET",  "/admin/v1/engines",                           "looks",   "api", "admin",      "adminEngines"],
  ["POST", "/admin/v1/engines/self-test",                 "acts",    "api", "admin",      "adminSelfTest"],
  ["GET",  "/admin/v1/buckets",                           "looks",   "api", "admin",      "adminBuckets"],
  ["POST", "/admin/v1/buckets/scan",                      "acts",    "api", "admin",      "adminScanBucket"],
  ["GET",  "/admin/v1/keys",                              "looks",   "api", "admin",      "adminKeys"],
  ["POST", "/admin/v1/keys",                              "acts",    "api", "admin",      "adminMakeKey"],
  ["POST", "/admin/v1/keys/revoke",                       "acts",    "api", "admin",      "adminRevokeKey"],
  ["GET",  "/admin/v1/callback-keys",                     "looks",   "api", "admin",      "adminCallbackKeys"],
  ["POST", "/admin/v1/callback-test",                     "acts",    "api", "admin",      "adminCallbackTest"],
  ["GET",  "/admin/v1/settings",                          "looks",   "api", "admin",      "adminSettings"],
  ["GET",  "/admin/v1/doctor",                            "looks",   "api", "admin",      "adminDoctor"],
  ["GET",  "/admin/v1/support-bundle",                    "looks",   "api", "admin",      "adminSupportBundle"],
  ["GET",  "/admin/v1/audit",                             "looks",   "api", "admin",      "adminAudit"],
  ["GET",  "/admin/v1/events",                            "looks",   "api", "admin",      "adminEvents"],
  ["GET",  "/console/*",                                  "open",    "api", "console",    "consoleFiles"],
  ["GET",  "/console",                                    "open",    "api", "console",    "consoleFiles"],
  ["GET",  "/openapi.json",                               "open",    "any", "everywhere", "openapi"],
  ["GET",  "/docs",                                       "open",    "any", "everywhere", "docs"],
  ["GET",  "/docs/*",                                     "open",    "any", "everywhere", "docsFiles"],
];

type Line = readonly [
  method: "GET" | "POST",
  path: string,
  key: "open" | "key" | "looks" | "acts" | keyof typeof scopes,
  role: "api" | "any",
  where: "everywhere" | "scans" | "folders" | "console" | "admin",
  name: EndpointName,
];

/** What a key must have for a line: one of these. Who submits may ask for the result. */
const scopes = {
  scan: ["scan"],
  objects: ["objects"],
  read: ["read"],
  viewer: ["viewer", "admin"],
  results: ["scan", "objects", "read"],
} satisfies Record<string, readonly Scope[]>;

/** Those that serve the document are not described in it. */
const endpoints = {
  ...asyncEndpoints,
  ...syncEndpoints,
  ...familyEndpoints,
  ...keyEndpoints,
  ...objectLinkEndpoints,
  ...versionEndpoints,
  ...serviceEndpoints,
  ...consoleEndpoints,
  consoleFiles: consoleFilesEndpoint,
  openapi: {},
  docs: {},
  docsFiles: {},
} satisfies Record<string, Endpoint>;

type EndpointName = keyof typeof endpoints;

/** What the process is that serves the routes. */
export interface Serving {
  role: "all" | "api" | "worker";
  scans: boolean;
  folders: boolean;
  console: boolean;
  admin: boolean;
}

/** What answers. There must be one for each route that is served. */
export type Handlers = Readonly<Partial<Record<Exclude<EndpointName, "openapi" | "docs" | "docsFiles">, Handle>>>;

/** The routes of a server or a function. */
export function routes(serving: Serving, handlers: Handlers, { version }: { version: string }): Route[] {
  const placed = placedEndpoints(serving);
  const files = pageFiles();
  // Most processes are never asked for them.
  const document = onFirstCall(() => ({ status: 200, json: openApi(placed.filter(isDescribed), version) }));
  const page = onFirstCall(() => docsPage(placed.filter(isDescribed), { version, folder: files.folder }));
  const all: Readonly<Partial<Record<EndpointName, Handle>>> = {
    ...handlers,
    openapi: async () => document(),
    docs: async () => page(),
    docsFiles: async ({ path }) => files.answer(path),
  };
  return placed.map((endpoint) => {
    const handle = all[endpoint.name];
    if (!handle) throw new Error(`nothing answers ${endpoint.method} ${endpoint.path}`);
    return { ...endpoint, handle };
  });
}

/** An answer that is made when it is first asked for, and kept. */
function onFirstCall(make: () => Answer): () => Answer {
  let made: Answer | undefined;
  return () => {
    made ??= renderedOnce(make());
    return made;
  };
}

/** The API of such a process, as an OpenAPI document. */
export function document(serving: Serving, { version }: { version: string }): Record<string, unknown> {
  return openApi(placedEndpoints(serving).filter(isDescribed), version);
}

function placedEndpoints(serving: Serving): (PlacedEndpoint & { name: EndpointName })[] {
  const here = table.filter(
    ([, , , role, where]) =>
      (role === "any" || serving.role !== "worker") && (where === "everywhere" || serving[where]),
  );
  return here.flatMap(([method, path, key, , where, name]) => {
    const endpoint: Endpoint = endpoints[name];
    const placed = {
      ...keyed(endpoint, key),
      name,
      operators: where === "console" || where === "admin" || path.startsWith("/metrics"),
      method,
      path: path.replace(/\*$/, ""),
      prefix: path.endsWith("*"),
      open: key === "open",
      dialect: dialectOf(path),
    };
    return [placed, ...aliases(placed)];
  });
}

function keyed(endpoint: Endpoint, key: Line[2]): Endpoint & Pick<PlacedEndpoint, "scopes" | "console"> {
  if (key === "open") return endpoint;
  if (key === "looks" || key === "acts") return { ...endpoint, console: key };
  return withLimits(key === "key" ? endpoint : withScopes(endpoint, scopes[key]));
}

function withScopes(endpoint: Endpoint, needed: readonly Scope[]): Endpoint & Pick<PlacedEndpoint, "scopes"> {
  const { doc } = endpoint;
  if (!doc) return { ...endpoint, scopes: needed };
  const errors = { ...doc.errors, 403: [...(doc.errors[403] ?? []), "missing_scope"] };
  return { ...endpoint, scopes: needed, doc: { ...doc, errors } };
}

const limitCodes = {
  job: ["monthly_files", "monthly_bytes", "jobs_waiting"],
  scan: ["monthly_files", "monthly_bytes", "scans_at_once"],
} as const;

function withLimits<Limited extends Endpoint>(endpoint: Limited): Limited {
  const { doc, work } = endpoint;
  if (!doc) return endpoint;
  const codes = ["rate_limit", ...(work ? limitCodes[work] : [])];
  return { ...endpoint, doc: { ...doc, errors: { ...doc.errors, 429: codes } } };
}

function isDescribed<Placed extends PlacedEndpoint>(endpoint: Placed): endpoint is Placed & DescribedEndpoint {
  return endpoint.doc !== undefined;
}
