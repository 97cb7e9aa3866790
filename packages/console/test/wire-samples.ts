import type {
  AdminActivity,
  AdminAuditEntry,
  AdminBucket,
  AdminCallbackKeys,
  AdminDeadLetter,
  AdminDoctor,
  AdminEngines,
  AdminFinding,
  AdminJob,
  AdminJobCounts,
  AdminJobDetail,
  AdminKey,
  AdminSession,
  AdminSettings,
} from "@lazaret/contract/admin";

/** Objects as /admin/v1 answers them, with names that a hostile client would choose. */

const HOSTILE = `"><img src=x onerror=alert(1)>'\u202Efdp.exe`;
const BEGIN = Date.UTC(2026, 0, 5, 12);
const SHA256 = "275a021bbfb6489e54d471899f7db9d1663fc695ec2fe2a2c4538aabf651fd0f";

export function sessionOf(role: "admin" | "viewer", apiUrl: string): AdminSession {
  return {
    who: `${role}-of-tests`,
    role,
    expires_at: Date.now() + 3_600_000,
    csrf: "csrf-of-tests",
    installation: { name: "tests", version: "0.1.0", platform: "embedded", role: "all", engine: "Q" },
    api_url: apiUrl,
    limits: { max_upload_bytes: 200 * 1024 * 1024 },
    event_bus: false,
  };
}

const STATES = ["done", "done", "queued", "done", "retrying", "done", "under_way", "dead"] as const;

export function sampleJob(number: number, more: Partial<AdminJob> = {}): AdminJob {
  const state = STATES[number % STATES.length] ?? "done";
  const infected = number % 5 === 0;
  const verdict = infected ? "infected" : number % 7 === 0 ? "no" : "clean";
  return {
    id: `job-${String(number).padStart(6, "0")}`,
    state,
    submitted_at: Date.now() - (10_000 - number) * 1000,
    attempts: 1,
    tenant: "default",
    key: number % 3 === 0 ? "web-shop" : "mail-gateway",
    trace_id: `order-${number}`,
    source:
      number % 2 === 0
        ? { kind: "url", url: `https://files.example.com/invoices/${number}.pdf?…`, host: "files.example.com" }
        : { kind: "object", bucket: "incoming", key: `2026/report ${number}.docx` },
    failed_callbacks: state === "dead" ? 24 : state === "retrying" ? 5 : 0,
    ...(state === "dead" && { reason: "callback refused 24 times: 503" }),
    ...(state === "retrying" && { due_at: Date.now() + 30_000 }),
    ...((state === "done" || state === "dead" || state === "retrying") && {
      verdict,
      size: 12_345 + number * 991,
      type: "PDF document",
      finished_at: Date.now() - 1000,
    }),
    ...(state !== "queued" && infected && { finding: "Win.Test.EICAR_HDB-1" }),
    callback_url: "https://shop.example.com/scanned",
    ...more,
  };
}

export function sampleDetail(job: AdminJob): AdminJobDetail {
  const begin = job.submitted_at;
  const callback = (attempt: number): AdminJobDetail["life"][number] => ({
    at: begin + 1000 * attempt,
    what: "callback",
    attempt,
    status: attempt < 6 ? 503 : 204,
    ms: 41,
  });
  return {
    ...job,
    sha256: SHA256,
    member: `inside/${HOSTILE}`,
    download_seconds: 0.31,
    scan_seconds: 0.12,
    engine: "clamd 1.4.3",
    signatures: "daily 27513",
    action: "tag",
    header_names: ["authorization"],
    callback_header_names: ["x-shop"],
    life: [
      { at: begin, what: "accepted" },
      { at: begin + 20, what: "taken", ms: 20 },
      { at: begin + 330, what: "downloaded", ms: 310 },
      { at: begin + 450, what: "scanned", ms: 120, detail: job.finding ?? job.verdict ?? "clean" },
      { at: begin + 460, what: "told", detail: "topic" },
      ...[1, 2, 3, 4, 5].map(callback),
      { at: begin + 5100, what: "put_back", detail: "callback refused: 503" },
      callback(6),
      { at: begin + 6100, what: "done" },
    ],
    life_left_out: 0,
    callback: {
      url: "https://shop.example.com/scanned",
      payload: JSON.stringify({ status: job.verdict ?? "clean", trace_id: job.trace_id, name: HOSTILE }),
      not_kept: ["custom_data"],
      signature: {
        parts: [
          { name: "timestamp", value: "2026-01-05T12:00:00Z" },
          { name: "url", value: "https://shop.example.com/scanned" },
          { name: "body", value: '{"status":"clean"}' },
        ],
        value: "c2lnbmF0dXJl".repeat(8),
        fingerprint: `SHA256:${SHA256}`,
        verifies: true,
      },
    },
    can: { callback: job.state === "dead", rescan: true, redrive: job.state === "dead" },
    others: [{ id: "job-000000", submitted_at: begin - 60_000, state: "done" }],
  };
}

export function sampleFinding(number: number): AdminFinding {
  return {
    id: `finding-${number}`,
    at: Date.now() - number * 60_000,
    verdict: number % 3 === 0 ? "no" : "infected",
    finding: number % 3 === 0 ? "scanner:encrypted" : "Win.Test.EICAR_HDB-1",
    source:
      number % 2 === 0
        ? { kind: "upload", name: `invoice ${HOSTILE}` }
        : { kind: "object", bucket: "incoming", key: `a/${number}.zip` },
    size: 68 + number,
    type: "ZIP archive",
    sha256: SHA256,
    tenant: "default",
    key: "web-shop",
    ...(number % 2 === 1 && {
      job_id: `job-${String(number).padStart(6, "0")}`,
      trace_id: `order-${number}`,
      action: "tag" as const,
    }),
    ...(number === 3 && { member: `docs/${HOSTILE}` }),
  };
}

export function sampleLetter(number: number): AdminDeadLetter {
  return {
    id: `job-${String(number).padStart(6, "0")}`,
    submitted_at: Date.now() - 7_200_000,
    buried_at: Date.now() - 3_600_000 - number * 1000,
    reason: "callback refused 24 times: 503",
    readable: number !== 3,
    tenant: "default",
    trace_id: `order-${number}`,
    source: { kind: "url", url: "https://files.example.com/a.pdf?…", host: "files.example.com" },
    receiver: number % 2 === 0 ? "https://shop.example.com" : "https://mail.example.net",
    callback_url: "https://shop.example.com/scanned",
    verdict: "clean",
  };
}

export function sampleActivity(range: AdminActivity["range"], queue: AdminJobCounts): AdminActivity {
  const step = range === "24h" ? 600 : range === "1h" ? 30 : 10;
  const now = Math.floor(Date.now() / 1000 / step) * step * 1000;
  return {
    since: now - 86_400_000,
    range,
    last_day: { scanned: 48_213, clean: 48_000, infected: 201, no: 12, p95_ms: 184 },
    queue,
    step_seconds: step,
    points: Array.from({ length: 90 }, (_, index) => ({
      at: now - (90 - index) * step * 1000,
      clean: Math.round(step * (4 + 3 * Math.sin(index / 8))),
      infected: index % 17 === 0 ? step : 0,
      no: index % 23 === 0 ? step : 0,
    })),
    recent: [0, 1, 2].map((number) => ({
      id: `scan-${number}`,
      at: now - number * 9000,
      verdict: number === 0 ? "infected" : "clean",
      ...(number === 0 && { finding: "Win.Test.EICAR_HDB-1" }),
      source: { kind: "upload", name: number === 1 ? HOSTILE : "report.pdf" },
      size: 4096,
      type: "PDF document",
      tenant: "default",
      key: "web-shop",
      ms: 31,
    })),
  };
}

export const engines: AdminEngines = {
  engine: "Q",
  ready: true,
  engines: [
    {
      name: "clamd",
      ok: true,
      in_use: true,
      detail: "answers at unix:/run/clamav/clamd.ctl",
      version: "ClamAV 1.4.3",
      signatures: "27513",
      signatures_at: Date.now() - 4 * 86_400_000,
      problems: [{ problem: "StreamMaxLength 25 MB is below the limit of 200 MB", cure: "set it to 200M" }],
    },
    { name: "rules", ok: true, in_use: true, detail: "112 rules", version: "YARA-X 1.20", problems: [] },
  ],
  others: [
    { name: "temporary files", ok: true, detail: "31 GB free" },
    { name: "store", ok: false, detail: "slow", hint: "look at the disk" },
  ],
  scans: { slots: 4, under_way: 1, waiting: 0 },
  errors_24h: 0,
  p95_ms: 184,
  warn_days: 3,
  alarm_days: 7,
};

export const buckets: AdminBucket[] = [
  { bucket: "incoming", last_scan_at: Date.now() - 3_600_000, objects: 12_044, infected: 3, tag_failures: 0 },
  { bucket: HOSTILE },
];

export const keys: AdminKey[] = [
  { name: "dev", tenant: "default", scopes: ["scan", "objects", "read"], ended: false, from: "settings" },
  {
    id: "key-1",
    name: "web-shop",
    tenant: "default",
    scopes: ["scan"],
    made_at: BEGIN,
    last_used_at: Date.now() - 5000,
    expires_at: Date.now() + 30 * 86_400_000,
    ended: false,
    from: "made",
  },
  { id: "key-2", name: HOSTILE, tenant: "team-b", scopes: ["scan"], made_at: BEGIN, ended: true, from: "made" },
];

export const callbackKeys: AdminCallbackKeys = {
  signed: true,
  keys: [
    {
      fingerprint: `SHA256:${SHA256}`,
      bits: 3072,
      spki_pem: "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n",
      pkcs1_pem: "-----BEGIN RSA PUBLIC KEY-----\nMIIB\n-----END RSA PUBLIC KEY-----\n",
      current: true,
    },
  ],
};

export const settings: AdminSettings = {
  version: "0.1.0",
  settings: [
    {
      name: "listen",
      variable: "LAZARET_LISTEN",
      value: "127.0.0.1:8040",
      default: "127.0.0.1:8040",
      origin: "default",
      secret: false,
      doc: "Where the API listens.",
    },
    {
      name: "apiKeys",
      variable: "LAZARET_API_KEYS",
      value: "(set)",
      default: "",
      origin: "environment",
      secret: true,
      doc: "Keys of programs.",
    },
    {
      name: "historyHours",
      variable: "LAZARET_HISTORY_HOURS",
      value: "48",
      default: "24",
      origin: "environment",
      secret: false,
      doc: "How long jobs that are done can be looked at.",
    },
  ],
};

export const doctor: AdminDoctor = {
  ok: true,
  checks: [
    { name: "engine", ok: true, detail: "clamd answers" },
    { name: "signatures", ok: true, warn: true, detail: "4 days old", hint: "run freshclam" },
    { name: "clock", ok: true, detail: "within a second" },
  ],
};

export const audit: AdminAuditEntry[] = [
  {
    at: Date.now() - 60_000,
    who: "admin-of-tests",
    tenant: "default",
    what: "login",
    on: "console",
    from: "127.0.0.1",
  },
  {
    at: Date.now() - 90_000,
    who: HOSTILE,
    tenant: "default",
    what: "keys.revoke",
    on: HOSTILE,
    from: "127.0.0.1",
    details: { id: "key-2" },
  },
];
