import assert from "node:assert/strict";
import type { AdminSession } from "@lazaret/contract/admin";
import { type AdminHandlers, consoleEndpoints } from "../../src/receive/console/endpoints.ts";
import type { Handle } from "../../src/receive/route.ts";

export const adminKey = "admin-key-of-the-tests";
export const viewerKey = "viewer-key-of-the-tests";

/** Handlers that do nothing but say that they were asked: for who looks at the entrance only. */
export function saidHandlers(asked: string[] = []): AdminHandlers {
  const names = Object.keys(consoleEndpoints).filter((name) => !/^admin(?:Login|Logout|Session)$/.test(name));
  const handle =
    (name: string): Handle =>
    async (request, { console }) => {
      if (request.method === "POST") await console?.record(`${name} ${request.params?.id ?? ""}`.trim());
      asked.push(name);
      return { status: 200, json: { name, params: request.params ?? {}, who: console?.who, role: console?.role } };
    };
  return Object.fromEntries(names.map((name) => [name, handle(name)])) as Record<keyof AdminHandlers, Handle>;
}

/** A browser as far as it matters: it has a cookie and says whose page it shows. */
export interface Visit {
  session: AdminSession;
  /** `name=value` */
  cookie: string;
  setCookie: string;
  /** With cookie, origin and, for a POST, the page's own header. */
  call(path: string, init?: RequestInit): Promise<Response>;
  post(path: string, body?: object, headers?: Record<string, string>): Promise<Response>;
}

export function login(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/admin/v1/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: new URL(url).origin, ...headers },
    body: JSON.stringify(body),
  });
}

/** Logs in with a key, as the page does. */
export async function visit(url: string, key: string, headers: Record<string, string> = {}): Promise<Visit> {
  const response = await login(url, { key }, headers);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const session = JSON.parse(text) as AdminSession;
  const setCookie = response.headers.get("set-cookie") ?? "";
  const cookie = setCookie.split(";")[0] ?? "";
  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${url}${path}`, { ...init, headers: { ...headers, Cookie: cookie, ...init.headers } });
  return {
    session,
    cookie,
    setCookie,
    call,
    post: (path, content = {}, more = {}) =>
      call(path, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          Origin: new URL(url).origin,
          "X-Lazaret-CSRF": session.csrf,
          ...more,
        },
        body: JSON.stringify(content),
      }),
  };
}

/** The code of an answer that is a problem. */
export async function codeOf(response: Response): Promise<string> {
  return `${response.status} ${((await response.json()) as { code?: string }).code}`;
}

/** Every call of the console, with some value for each named part, as the service's own document lists them. */
export async function consoleCalls(url: string): Promise<{ method: "GET" | "POST"; path: string }[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> };
  return Object.entries(paths)
    .filter(([path]) => path.startsWith("/admin/"))
    .flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => ({
        method: method.toUpperCase() as "GET" | "POST",
        path: path.replaceAll(/\{\w+\}/g, "some-id"),
      })),
    );
}
