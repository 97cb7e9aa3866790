import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { extname, join } from "node:path";
import type { AdminEvent, AdminFinding, AdminJob, AdminJobCounts, AdminTask } from "@lazaret/contract/admin";
import * as sample from "./wire-samples.ts";

/**
 * /admin/v1 and the built files over real HTTP, as the service gives them, with answers that a test decides. What it is for: states of the
 * server that a real one is hard to bring into. The pages against the real service: test/journeys.
 */
export interface FakeService extends AsyncDisposable {
  /** Of the page, with a slash at its end. */
  url: string;
  jobs: AdminJob[];
  findings: AdminFinding[];
  letters: ReturnType<typeof sample.sampleLetter>[];
  tasks: AdminTask[];
  eventBus: boolean;
  /** Answers to paths, before the usual ones. */
  answers: Map<string, { status: number; body: unknown }>;
  calls: { method: string; path: string; body: string; headers: IncomingMessage["headers"] }[];
  streams: Set<ServerResponse>;
  emit(event: AdminEvent): void;
  /** Forgets all sessions. */
  expire(): void;
  /** Ends every connection and listens no more, until `listen`. */
  stop(): Promise<void>;
  listen(): Promise<void>;
}

export const ADMIN_KEY = "admin-key-of-the-tests";
export const VIEWER_KEY = "viewer-key-of-the-tests";
export const LINK = "link-of-the-tests";

const DIST = join(import.meta.dirname, "../dist");
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const HEADERS = {
  "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

export async function fakeService(options: { prefix?: string; jobs?: number } = {}): Promise<FakeService> {
  const { prefix = "" } = options;
  const sessions = new Map<string, "admin" | "viewer">();
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  let eventId = 0;
  let linkUsed = false;

  const fake: FakeService = {
    url: "",
    jobs: Array.from({ length: options.jobs ?? 12 }, (_, index) => sample.sampleJob((options.jobs ?? 12) - 1 - index)),
    findings: [1, 2, 3, 4].map(sample.sampleFinding),
    letters: [1, 2, 3, 4].map(sample.sampleLetter),
    tasks: [],
    eventBus: false,
    answers: new Map(),
    calls: [],
    streams: new Set(),
    emit(event) {
      eventId += 1;
      for (const stream of fake.streams) stream.write(`id: ${eventId}\ndata: ${JSON.stringify(event)}\n\n`);
    },
    expire: () => sessions.clear(),
    async stop() {
      for (const socket of sockets) socket.destroy();
      server?.close();
      if (server) await once(server, "close");
      server = undefined;
    },
    async listen() {
      server = createServer((request, response) => void answer(request, response));
      server.on("connection", (socket) => {
        sockets.add(socket);
        socket.once("close", () => sockets.delete(socket));
      });
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      port = (server.address() as AddressInfo).port;
      fake.url = `http://127.0.0.1:${port}${prefix}/console/`;
    },
    async [Symbol.asyncDispose]() {
      if (server) await fake.stop();
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", "http://fake");
    const body = await text(request);
    if (!url.pathname.startsWith(prefix)) return json(response, 404, { message: "outside of the sub-path" });
    const path = url.pathname.slice(prefix.length);
    if (path.startsWith("/console/")) return file(response, path.slice("/console/".length) || "index.html");
    if (!path.startsWith("/admin/v1/")) return json(response, 404, { message: "no such path" });
    const call = path.slice("/admin/v1/".length);
    fake.calls.push({ method: request.method ?? "", path: call, body, headers: request.headers });
    const given = fake.answers.get(call);
    if (given) return json(response, given.status, given.body);
    if (call === "login") return login(response, JSON.parse(body) as { key?: string; link?: string });
    const role = sessions.get(/fake=(\w+)/.exec(request.headers.cookie ?? "")?.[1] ?? "");
    if (!role) return json(response, 401, { code: "unauthorized", message: "log in first", hint: "POST login" });
    if (request.method === "POST" && request.headers["x-lazaret-csrf"] !== "csrf-of-tests")
      return json(response, 403, { code: "csrf", message: "the CSRF header is missing" });
    if (request.method === "POST" && role === "viewer" && call !== "logout")
      return json(response, 403, { code: "forbidden", message: "viewers only look" });
    if (call === "events") return stream(request, response);
    if (call === "session") return json(response, 200, sessionOf(role));
    if (call === "logout") {
      sessions.clear();
      return json(response, 200, {});
    }
    const found = reply(fake, request.method ?? "GET", call, url.searchParams, body);
    if (found === undefined) return json(response, 404, { code: "not_found", message: `no ${call}` });
    json(response, request.method === "POST" && call.includes("/re") ? 202 : 200, found);
  }

  function sessionOf(role: "admin" | "viewer"): object {
    return { ...sample.sessionOf(role, `http://127.0.0.1:${port}`), event_bus: fake.eventBus };
  }

  function login(response: ServerResponse, { key, link }: { key?: string; link?: string }): void {
    const byLink = link === LINK && !linkUsed;
    if (byLink) linkUsed = true;
    const role = key === ADMIN_KEY || byLink ? "admin" : key === VIEWER_KEY ? "viewer" : undefined;
    if (!role) {
      json(response, 401, { code: "wrong_key", message: "this key opens nothing here", hint: "use an admin key" });
      return;
    }
    const id = `s${sessions.size + fake.calls.length}`;
    sessions.set(id, role);
    response.setHeader("set-cookie", `fake=${id}; HttpOnly; SameSite=Strict; Path=/`);
    json(response, 200, sessionOf(role));
  }

  function stream(request: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write("retry: 100\n\n");
    fake.streams.add(response);
    request.on("close", () => fake.streams.delete(response));
  }

  await fake.listen();
  return fake;
}

function file(response: ServerResponse, name: string): void {
  try {
    const bytes = readFileSync(join(DIST, name));
    response.writeHead(200, { ...HEADERS, "content-type": TYPES[extname(name)] ?? "application/octet-stream" });
    response.end(bytes);
  } catch {
    json(response, 404, { message: "no such file" });
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function text(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString("latin1");
}

function countsOf(jobs: AdminJob[]): AdminJobCounts {
  const of = (state: string): number => jobs.filter((job) => job.state === state).length;
  return {
    queued: of("queued"),
    under_way: of("under_way"),
    retrying: of("retrying"),
    done: of("done"),
    dead: of("dead"),
    oldest_seconds: 12,
  };
}

function reply(fake: FakeService, method: string, call: string, query: URLSearchParams, body: string): unknown {
  const [first = "", second] = call.split("/");
  if (method === "POST") return order(fake, call, body);
  if (call === "jobs") return page(fake.jobs.filter(wanted(query)), query);
  if (call === "jobs/counts") return countsOf(fake.jobs);
  if (first === "jobs") {
    const job = fake.jobs.find(({ id, trace_id }) => id === second || trace_id === second);
    return job && sample.sampleDetail(job);
  }
  if (call === "findings") return page(fake.findings.filter(wanted(query)), query);
  if (call === "findings/groups") return { entries: groups(fake.findings) };
  if (call === "dead-letters") return page(fake.letters, query);
  if (call === "dead-letters/receivers")
    return { entries: [{ receiver: "https://shop.example.com", count: 2, last_at: Date.now() }] };
  if (call === "activity") return sample.sampleActivity(rangeOf(query.get("range")), countsOf(fake.jobs));
  const fixed: Record<string, unknown> = {
    tasks: { entries: fake.tasks },
    engines: sample.engines,
    buckets: { entries: sample.buckets },
    keys: { entries: sample.keys },
    "callback-keys": sample.callbackKeys,
    settings: sample.settings,
    doctor: sample.doctor,
    audit: { entries: sample.audit },
  };
  return fixed[call];
}

function rangeOf(text: string | null): "15m" | "1h" | "24h" {
  return text === "1h" || text === "24h" ? text : "15m";
}

function order(fake: FakeService, call: string, body: string): unknown {
  if (call === "scan/upload") {
    const infected = body.includes("EICAR");
    return {
      verdict: infected ? "infected" : "clean",
      ...(infected && { finding: "Win.Test.EICAR_HDB-1" }),
      size: body.length,
      type: "text",
      sha256: "ab".repeat(32),
      ms: 12,
    };
  }
  if (call.startsWith("scan/")) return { verdict: "no", finding: "scanner:download-failed", size: 0, ms: 5 };
  if (call.startsWith("dead-letters/")) {
    const task: AdminTask = {
      id: "task-1",
      what: "redrive",
      on: "dead letters",
      started_at: Date.now(),
      done: 0,
      failed: 0,
      total: 4,
    };
    fake.tasks = [task];
    return task;
  }
  if (call === "engines/self-test") return { ok: true, checks: [{ name: "EICAR", ok: true, detail: "found", ms: 4 }] };
  if (call === "keys") return { key: sample.keys[1], secret: "lzk_secret-shown-once" };
  if (call === "callback-test")
    return { delivered: false, status: 503, ms: 12, payload: "{}", header_names: ["x-signature"] };
  return {};
}

function wanted(query: URLSearchParams): (entry: AdminJob | AdminFinding) => boolean {
  const state = query.get("state");
  const verdict = query.get("verdict");
  const q = query.get("q");
  return (entry) =>
    (!state || ("state" in entry && entry.state === state)) &&
    (!verdict || entry.verdict === verdict) &&
    (!q || JSON.stringify(entry).includes(q));
}

function page<Entry>(all: Entry[], query: URLSearchParams): { entries: Entry[]; next?: string } {
  const from = Number(query.get("after") ?? 0);
  const to = from + Number(query.get("limit") ?? 100);
  return { entries: all.slice(from, to), ...(to < all.length && { next: String(to) }) };
}

function groups(findings: AdminFinding[]): object[] {
  const by = Map.groupBy(findings, ({ finding }) => finding);
  return [...by].map(([name, all]) => ({
    name,
    count: all.length,
    infected: all.filter(({ verdict }) => verdict === "infected").length,
    first_at: Math.min(...all.map(({ at }) => at)),
    last_at: Math.max(...all.map(({ at }) => at)),
  }));
}
