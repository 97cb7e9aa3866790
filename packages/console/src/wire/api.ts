import type { AdminPage, AdminSession } from "@lazaret/contract/admin";
import { signal } from "@preact/signals";

/** Undefined until the server has been asked, null when nobody is logged in. */
export const session = signal<AdminSession | null | undefined>(undefined);
/** Why the login page is there again. */
export const loggedOutBecause = signal<string | undefined>(undefined);

const CSRF_HEADER = "x-lazaret-csrf";
const base = new URL("../admin/v1/", location.href);

/** An answer that is an error, or none at all. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;

  constructor(
    status: number,
    told: { code?: string | undefined; message?: string | undefined; hint?: string | undefined },
  ) {
    super(told.message ?? `the server answered ${status}`);
    this.status = status;
    this.code = told.code ?? "unknown";
    this.hint = told.hint;
  }
}

export type Query = Record<string, string | number | undefined>;

export function urlOf(path: string, query: Query = {}): string {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(name, String(value));
  }
  return url.href;
}

export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return call<T>(urlOf(path, query), { ...(signal && { signal }) });
}

export function post<T>(path: string, body: object = {}, signal?: AbortSignal): Promise<T> {
  return call<T>(urlOf(path), {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...csrf() },
    ...(signal && { signal }),
  });
}

export function csrf(): Record<string, string> {
  return session.value ? { [CSRF_HEADER]: session.value.csrf } : {};
}

/** Lists come as a page, or as they are. */
export function entriesOf<Entry>(list: AdminPage<Entry> | Entry[]): Entry[] {
  return Array.isArray(list) ? list : list.entries;
}

async function call<T>(url: string, init: RequestInit): Promise<T> {
  const response = await fetch(url, { credentials: "same-origin", ...init }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw unreachable();
  });
  const text = await response.text();
  if (!response.ok) throw problemOf(response.status, text, url);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

export function unreachable(): ApiProblem {
  return new ApiProblem(0, {
    code: "unreachable",
    message: "the server does not answer",
    hint: "look whether it runs, and try again",
  });
}

export function problemOf(status: number, text: string, url: string): ApiProblem {
  let told = {};
  try {
    told = JSON.parse(text) as object;
  } catch {
    // A proxy in between has other words.
  }
  const problem = new ApiProblem(status, told);
  if (status === 401 && !url.endsWith("/login") && session.value) endSession("the session is over: log in again");
  return problem;
}

/** The address stays as it is, so that the reader is back there after the login. */
function endSession(because?: string): void {
  loggedOutBecause.value = because;
  session.value = null;
}

export async function readSession(): Promise<void> {
  try {
    session.value = await get<AdminSession>("session");
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status === 401) session.value = null;
    else throw error;
  }
}

export async function logIn(with_: { key: string } | { link: string }): Promise<void> {
  session.value = await post<AdminSession>("login", with_);
  loggedOutBecause.value = undefined;
}

export async function logOut(): Promise<void> {
  await post("logout");
  endSession();
}

export function mayAct(): boolean {
  return session.value?.role === "admin";
}
