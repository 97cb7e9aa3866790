import type { AdminEvent, AdminPage } from "@lazaret/contract/admin";
import type { ServiceOptions } from "../../src/app.ts";
import type { Settings } from "../../src/settings.ts";
import { anyEngine } from "./clamd.ts";
import { type TestService, testService } from "./service.ts";

export const adminKey = "admin-key-of-the-tests";
export const viewerKey = "viewer-key-of-the-tests";

/** A service with a console, and calls of /admin/v1 as an operator makes them. */
export interface AdminService extends AsyncDisposable {
  service: TestService;
  /** The answer, parsed; fails unless its status is that one. */
  get<Answered>(path: string, status?: number): Promise<Answered>;
  post<Answered>(path: string, body: unknown, status?: number): Promise<Answered>;
  /** Every entry of a list, page by page. */
  all<Entry>(path: string): Promise<Entry[]>;
  raw(path: string, init?: RequestInit): Promise<Response>;
  /** Submits a download by the API. */
  submit(body: Record<string, unknown>): Promise<void>;
}

export async function adminService(
  settings: Partial<Settings> = {},
  options: ServiceOptions = {},
): Promise<AdminService> {
  const service = await testService(
    {
      ...(await anyEngine()),
      adminKeys: [adminKey],
      viewerKeys: [viewerKey],
      allowHttpCallbacks: true,
      signCallbackInvocations: true,
      ...settings,
    },
    {},
    options,
  );
  const raw = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${service.url}/admin/v1/${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${adminKey}`, ...init.headers },
    });
  const answered = async <Answered>(response: Response, status: number, path: string): Promise<Answered> => {
    const text = await response.text();
    if (response.status !== status) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text) as Answered;
  };
  const get = async <Answered>(path: string, status = 200): Promise<Answered> =>
    answered<Answered>(await raw(path), status, path);
  return {
    service,
    raw,
    get,
    async post<Answered>(path: string, body: unknown, status = 200): Promise<Answered> {
      const headers = { "Content-Type": "application/json" };
      return answered<Answered>(await raw(path, { method: "POST", headers, body: JSON.stringify(body) }), status, path);
    },
    async all<Entry>(path: string): Promise<Entry[]> {
      const entries: Entry[] = [];
      let after = "";
      for (let pages = 0; pages < 1000; pages += 1) {
        const page = await get<AdminPage<Entry>>(`${path}${path.includes("?") ? "&" : "?"}after=${after}`);
        entries.push(...page.entries);
        if (page.next === undefined) return entries;
        after = encodeURIComponent(page.next);
      }
      throw new Error(`${path} has no end`);
    },
    async submit(body) {
      const headers = { "Content-Type": "application/json" };
      const path = "bucket" in body ? "objstore" : "download";
      const response = await service.call(`/api/v1/scan/async/${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      if (response.status !== 201 && response.status !== 204) {
        throw new Error(`submitting answered ${response.status}: ${await response.text()}`);
      }
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** What came over an event stream so far. */
export interface HeardEvents extends AsyncDisposable {
  readonly events: readonly (AdminEvent & { id: string })[];
  /** Everything, as it came. */
  readonly text: string;
  readonly lastId: string;
  readonly over: boolean;
}

export async function listen(admin: Pick<AdminService, "raw">, lastEventId?: string): Promise<HeardEvents> {
  const stop = new AbortController();
  const headers = lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId };
  const response = await admin.raw("events", { headers, signal: stop.signal });
  if (response.status !== 200 || !response.body) throw new Error(`events answered ${response.status}`);
  const events: (AdminEvent & { id: string })[] = [];
  let text = "";
  let rest = "";
  let lastId = "";
  let over = false;
  const reading = (async () => {
    for await (const bytes of response.body ?? []) {
      const piece = Buffer.from(bytes).toString();
      text += piece;
      const messages = (rest + piece).split("\n\n");
      rest = messages.pop() ?? "";
      for (const message of messages) {
        const id = /^id: (.+)$/m.exec(message)?.[1];
        const data = /^data: (.+)$/m.exec(message)?.[1];
        if (id !== undefined) lastId = id;
        if (data !== undefined) events.push({ ...(JSON.parse(data) as AdminEvent), id: id ?? "" });
      }
    }
  })()
    .catch(() => {})
    .finally(() => {
      over = true;
    });
  return {
    events,
    get text() {
      return text;
    },
    get lastId() {
      return lastId;
    },
    get over() {
      return over;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await reading;
    },
  };
}
