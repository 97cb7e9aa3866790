import type { Endpoint, Handle, RouteDoc } from "../route.ts";

/** The calls of /admin/v1: see packages/contract/src/admin.ts for what they take and answer, and routes.ts for where they are. */
export type ConsoleEndpoint = EntranceEndpoint | AdminEndpoint;

/** Who comes in, and who is in. */
export type EntranceEndpoint = "adminLogin" | "adminLogout" | "adminSession";

/** What is looked at and done inside. */
type AdminEndpoint = keyof typeof inside;

/** What answers them. Each that acts calls `caller.console.record` before it does anything. */
export type AdminHandlers = Readonly<Record<AdminEndpoint, Handle>>;

/** On every answer: nothing of it is shown in a frame, runs, or is told to others. */
const ANSWER_HEADERS = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
};

const text = (description: string): { description: string; schema: { type: "string" } } => ({
  description,
  schema: { type: "string" },
});

const paged = {
  limit: text("How many, at most."),
  after: text("`next` of the previous page."),
};
const spanned = {
  tenant: text("Only those of this tenant."),
  key: text("Only those of the key with this name."),
  since: text("From this time on, in milliseconds since 1970."),
  until: text("Before this time, in milliseconds since 1970."),
  q: text("Part of a trace id, bucket, key, host or name."),
};
const jobFilters = {
  state: text("`queued`, `under_way`, `retrying`, `done` or `dead`."),
  verdict: text("`clean`, `infected` or `no`."),
  source: text("`url` or `object`."),
  ...spanned,
};
const findingFilters = {
  verdict: text("`infected` or `no`."),
  finding: text("Only this finding."),
  bucket: text("Only in this bucket."),
  source: text("`url`, `object` or `upload`."),
  ...spanned,
};
const letterFilters = {
  receiver: text("Only those whose callbacks go to this origin."),
  tenant: spanned.tenant,
  q: spanned.q,
};
const format = { format: text("`ndjson` or `csv`.") };

interface Said {
  path: string;
  summary: string;
  description?: string;
  query?: RouteDoc["query"];
  errors?: RouteDoc["errors"];
  success?: RouteDoc["success"];
}

const KEY = '-H "Authorization: Bearer $ADMIN_KEY"';
const UNAVAILABLE = { 503: ["queue_unavailable"] } as const;

function looks({ path, summary, description, query, success, errors = {} }: Said): Endpoint {
  const doc: RouteDoc = {
    group: "Console",
    summary,
    ...(description && { description }),
    ...(query && { query }),
    success: success ?? { status: 200, description: "JSON, as packages/contract/src/admin.ts describes it." },
    errors: {
      ...(query && { 400: wrongQuery(query) }),
      401: ["not_logged_in", "invalid_api_key"],
      403: ["other_tenant"],
      ...UNAVAILABLE,
      ...errors,
    },
    example: `curl ${KEY} $LAZARET_URL/admin/v1/${path}`,
  };
  return { doc, headers: ANSWER_HEADERS };
}

function wrongQuery(query: NonNullable<RouteDoc["query"]>): string[] {
  return ["invalid_request", ...("after" in query ? ["invalid_cursor"] : [])];
}

interface Act extends Said {
  act: string;
  /** An example of the JSON that it takes; `upload` for the bytes of a file. */
  body?: object | "upload";
}

function acts({ act, body = {}, ...said }: Act): Endpoint {
  const { doc, headers } = looks(said) as Endpoint & { doc: RouteDoc };
  const type = body === "upload" ? "application/octet-stream" : "application/json";
  const data = body === "upload" ? "--data-binary @report.pdf" : `-d '${JSON.stringify(body)}'`;
  const { 403: refused = [], ...errors } = doc.errors;
  return {
    headers: headers ?? {},
    act,
    doc: {
      ...doc,
      request:
        body === "upload"
          ? { contentType: type as "application/octet-stream" }
          : {
              contentType: "application/json",
              schema: { type: "object", properties: {}, required: [], examples: [body] },
            },
      errors: {
        ...errors,
        400: [...new Set(["invalid_request", ...(errors[400] ?? [])])],
        403: [...refused, "viewer", "csrf"],
        503: [...(errors[503] ?? []), "audit_unavailable"],
      },
      example: `curl ${KEY} -H "Content-Type: ${type}" ${data} $LAZARET_URL/admin/v1/${said.path}`,
    },
  };
}

const JOB = { status: 202, description: "The `id` of the job to look at: the same, or a new one." } as const;
const TASK = { status: 202, description: "A task, which runs on its own." } as const;
const SCANS = { 503: ["busy", "engine_unavailable"], 504: ["scanner:timeout"] } as const;
const MISSING = { 404: ["not_found"] } as const;

/** Other calls than these are no acts: who comes in has no session yet, and who leaves may. */
const entrance: Record<EntranceEndpoint, Endpoint> = {
  adminLogin: {
    headers: ANSWER_HEADERS,
    doc: {
      group: "Console",
      summary: "Turn a key into a session",
      description:
        "Takes `{key}`, or `{link}` with the token that `lazaret dev` prints, and sets a cookie. Scripts need none: they send the key as a bearer.",
      request: {
        contentType: "application/json",
        schema: { type: "object", properties: {}, required: [], examples: [{ key: "…" }] },
      },
      success: { status: 200, description: "Who it is, until when, and what this installation is." },
      errors: {
        400: ["invalid_request", "https_needed"],
        401: ["wrong_key", "wrong_link"],
        403: ["csrf", "other_tenant", "missing_scope"],
        413: ["body_too_large"],
        429: ["too_many_logins"],
      },
      example:
        'curl -i -H "Content-Type: application/json" -d "{\\"key\\": \\"$ADMIN_KEY\\"}" $LAZARET_URL/admin/v1/login',
    },
  },
  adminLogout: {
    headers: ANSWER_HEADERS,
    doc: {
      group: "Console",
      summary: "End the session",
      success: {
        status: 204,
        description: "The session has ended at the service that was asked, and the cookie is removed.",
      },
      errors: { 403: ["csrf"] },
      example: "curl -i -X POST $LAZARET_URL/admin/v1/logout",
    },
  },
  adminSession: looks({ path: "session", summary: "Who am I, and what is this installation?" }),
};

const inside = {
  adminJobs: looks({ path: "jobs", summary: "Jobs, newest first", query: { ...jobFilters, ...paged } }),
  adminJobCounts: looks({ path: "jobs/counts", summary: "How many jobs are in which state" }),
  adminJobExport: looks({
    path: "jobs/export?format=csv",
    summary: "Jobs as NDJSON or CSV",
    query: { ...format, ...jobFilters },
    success: { status: 200, description: "At most 10,000.", contentType: "application/x-ndjson" },
  }),
  adminJob: looks({
    path: "jobs/$ID",
    summary: "One job, by its id or trace id, with everything that happened to it",
    errors: MISSING,
  }),
  adminSendCallback: acts({
    path: "jobs/$ID/callback",
    act: "jobs.callback",
    summary: "Send the callback of a job again",
    description: "Only for a dead letter: what a callback needs is not kept once a job is done.",
    success: JOB,
    errors: { ...MISSING, 409: ["not_kept", "no_callback", "no_report", "under_way"] },
  }),
  adminRescan: acts({
    path: "jobs/$ID/rescan",
    act: "jobs.rescan",
    summary: "Fetch and scan the file of a job again",
    success: JOB,
    errors: { ...MISSING, 409: ["not_kept", "under_way"] },
  }),
  adminFindings: looks({
    path: "findings",
    summary: "What was infected or not scanned, newest first",
    query: { ...findingFilters, ...paged },
  }),
  adminFindingGroups: looks({
    path: "findings/groups?by=finding",
    summary: "Findings by name, bucket or day",
    query: { by: text("`finding`, `bucket` or `day`."), ...findingFilters },
  }),
  adminFindingExport: looks({
    path: "findings/export?format=csv",
    summary: "Findings as NDJSON or CSV",
    query: { ...format, ...findingFilters },
    success: { status: 200, description: "At most 10,000.", contentType: "application/x-ndjson" },
  }),
  adminDeadLetters: looks({
    path: "dead-letters",
    summary: "Jobs that were given up, newest first",
    query: { ...letterFilters, ...paged },
  }),
  adminReceivers: looks({ path: "dead-letters/receivers", summary: "Dead letters by receiver" }),
  adminDeadLetterExport: looks({
    path: "dead-letters/export?format=csv",
    summary: "Dead letters as NDJSON or CSV",
    query: { ...format, ...letterFilters },
    success: { status: 200, description: "At most 10,000.", contentType: "application/x-ndjson" },
  }),
  adminRedrive: acts({
    path: "dead-letters/redrive",
    act: "dead-letters.redrive",
    summary: "Put dead letters back into the queue",
    body: { ids: ["…"], what: "callback" },
    success: TASK,
    errors: { 409: ["too_many_tasks"] },
  }),
  adminDeleteLetters: acts({
    path: "dead-letters/delete",
    act: "dead-letters.delete",
    summary: "Delete dead letters",
    body: { ids: ["…"] },
    success: TASK,
    errors: { 409: ["too_many_tasks"] },
  }),
  adminTasks: looks({ path: "tasks", summary: "Tasks that were started here" }),
  adminTask: looks({ path: "tasks/$ID", summary: "The progress of a task", errors: MISSING }),
  adminStopTask: acts({ path: "tasks/$ID/stop", act: "tasks.stop", summary: "Stop a task", errors: MISSING }),
  adminActivity: looks({
    path: "activity?range=1h",
    summary: "Scans of this service over time",
    query: { range: text("`15m`, `1h` or `24h`.") },
  }),
  adminScanUpload: acts({
    path: "scan/upload?name=report.pdf",
    act: "scan.upload",
    summary: "Scan a file",
    body: "upload",
    query: { name: text("Name of the file, to be shown in lists.") },
    errors: { 413: ["scanner:too-big"], ...SCANS },
  }),
  adminScanUrl: acts({
    path: "scan/url",
    act: "scan.url",
    summary: "Fetch a file and scan it",
    body: { url: "https://example.com/report.pdf" },
    errors: { 400: ["invalid_download_url", "blocked_destination"], ...SCANS },
  }),
  adminScanObject: acts({
    path: "scan/object",
    act: "scan.object",
    summary: "Scan an object",
    body: { bucket: "uploads", key: "report.pdf" },
    errors: { 400: ["invalid_object"], ...SCANS },
  }),
  adminEngines: looks({ path: "engines", summary: "Engines, their signatures and their problems" }),
  adminSelfTest: acts({ path: "engines/self-test", act: "engines.self-test", summary: "Scan the EICAR test file" }),
  adminBuckets: looks({ path: "buckets", summary: "Buckets, and when they were last scanned" }),
  adminScanBucket: acts({
    path: "buckets/scan",
    act: "buckets.scan",
    summary: "Scan what is in a bucket",
    body: { bucket: "uploads" },
    success: TASK,
    errors: { 409: ["under_way", "too_many_tasks"] },
  }),
  adminKeys: looks({ path: "keys", summary: "API keys by name, never their secrets" }),
  adminMakeKey: acts({
    path: "keys",
    act: "keys.create",
    summary: "Make an API key",
    description: "Its secret is in this answer and nowhere else.",
    body: { name: "web", tenant: "default", scopes: ["scan"] },
    success: { status: 201, description: "The key, and its secret, which is shown only once." },
    errors: { 409: ["name_taken"] },
  }),
  adminRevokeKey: acts({
    path: "keys/revoke",
    act: "keys.revoke",
    summary: "Revoke an API key",
    body: { id: "…" },
    errors: { ...MISSING, 409: ["declared"] },
  }),
  adminCallbackKeys: looks({ path: "callback-keys", summary: "Public keys of callback signatures" }),
  adminCallbackTest: acts({
    path: "callback-test",
    act: "callback-test",
    summary: "Send a sample callback, and see the answer",
    body: { url: "https://example.com/callback" },
  }),
  adminSettings: looks({ path: "settings", summary: "Every setting, its value and its origin; secrets are masked" }),
  adminDoctor: looks({ path: "doctor", summary: "What lazaret doctor finds" }),
  adminSupportBundle: looks({ path: "support-bundle", summary: "Facts for support, without secrets" }),
  adminAudit: looks({
    path: "audit",
    summary: "What was done by whom, newest first",
    query: { since: spanned.since, until: spanned.until, ...paged },
  }),
  adminEvents: looks({
    path: "events",
    summary: "What happens on this machine, as it happens",
    description: "Server-sent events; `Last-Event-ID` replays what was missed, or answers `reset`.",
    success: { status: 200, description: "Events.", contentType: "text/event-stream" },
    errors: { 429: ["too_many_streams"] },
  }),
} satisfies Record<string, Endpoint>;

export const consoleEndpoints: Record<ConsoleEndpoint, Endpoint> = { ...entrance, ...inside };
