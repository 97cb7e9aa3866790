import type { Begun, Limiter } from "../access/limiter.ts";
import { Busy, EngineUnavailable, QueueUnavailable, TooSlow } from "../model/faults.ts";
import { DEFAULT_TENANT } from "../model/tenant.ts";
import type { Spans } from "../traces/spans.ts";
import { type BearerAuth, EndedKey, type WrongKeys } from "./bearer-auth.ts";
import { beyondLimit } from "./beyond-limit.ts";
import type { Entered, Entrance } from "./console/entrance.ts";
import { whileIn } from "./console/while-in.ts";
import { Problem, problemAnswer, tryLater } from "./problem.ts";
import { type Answer, type ApiRequest, CLIENT_GONE } from "./request-answer.ts";
import type { Caller, KeyHolder, Route } from "./route.ts";

export interface ApiOptions {
  routes: readonly Route[];
  auth: BearerAuth;
  /** Who tries keys is slowed down, if there is such a thing. */
  wrongKeys?: WrongKeys;
  limiter: Limiter;
  /** Who may use the console's routes; nobody where there is none. */
  entrance?: Pick<Entrance, "enter"> | undefined;
  /** Where there are traces. */
  spans?: Spans | undefined;
  /** Where a browser is sent that asks for `/`; relative, so that it holds under any path a proxy has put us. */
  home?: string;
}

const nobody: KeyHolder = {
  account: { tenant: "", key: "" },
  scopes: [],
  tenant: { name: "", weight: 1, limits: {} },
  limits: {},
  limitsJobs: false,
};
const STORE_AWAY = { message: "the store of this installation cannot be reached", hint: "try again" };

/** Finds a request's route, checks its key, and turns whatever is thrown into an answer. Never throws. */
export function api(options: ApiOptions): (request: ApiRequest) => Promise<Answer> {
  const { routes, auth, wrongKeys, limiter, entrance, spans, home } = options;
  const byPath = Map.groupBy(routes, (route) => route.path);
  const prefixes = routes.filter((route) => route.prefix);
  const withNamedParts = routes.flatMap((route) => (route.path.includes("/:") ? { route, parts: partsOf(route) } : []));

  /** Those whose path has parts of any value where it has names. */
  function fitting(request: ApiRequest): Route[] {
    const given = request.path.split("/");
    return withNamedParts.flatMap(({ route, parts }) => {
      const params = paramsOf(parts, given);
      if (!params) return [];
      request.params = params;
      return [route];
    });
  }

  function candidatesFor(request: ApiRequest): readonly Route[] {
    const exact = byPath.get(request.path);
    if (exact) return exact;
    const fits = fitting(request);
    return fits.length > 0 ? fits : prefixes.filter((route) => request.path.startsWith(route.path));
  }

  function routeOf(request: ApiRequest): Route {
    const candidates = candidatesFor(request);
    if (candidates.length === 0) {
      throw new Problem(404, "not_found", {
        message: "there is nothing at this path",
        hint: "the paths of this API are listed at /docs",
      });
    }
    const method = request.method === "HEAD" ? "GET" : request.method;
    const route = candidates.find((candidate) => candidate.method === method);
    if (route) return route;
    const allowed = candidates.flatMap((candidate) => (candidate.method === "GET" ? ["GET", "HEAD"] : ["POST"]));
    throw new Problem(405, "method_not_allowed", {
      message: "this path does not take that method",
      hint: `use ${allowed[0]}`,
      headers: { Allow: allowed.join(", ") },
    });
  }

  /** A right key is known at once. */
  function holderOf(request: ApiRequest): KeyHolder | Promise<never> {
    try {
      return auth.check(request.headers);
    } catch (error) {
      return refused(request, error);
    }
  }

  async function refused(request: ApiRequest, error: unknown): Promise<never> {
    // So that an operator sees whose program still has the old secret.
    if (error instanceof EndedKey) request.note({ ...error.account });
    await wrongKeys?.hold(request.remote, request.signal);
    throw error;
  }

  /** Before anything of the body is read. Throws the 429 problem. */
  async function begin(caller: KeyHolder, { work }: Route): Promise<Begun | undefined> {
    const refusal = limiter.request(caller);
    if (refusal) throw beyondLimit(refusal);
    if (!work) return undefined;
    const begun = await limiter.begin(caller, work);
    if (begun.kind === "refused") throw beyondLimit(begun);
    return begun;
  }

  /** Keys of the API mean nothing here. */
  async function enterConsole(request: ApiRequest, route: Route): Promise<Entered> {
    try {
      if (!entrance) throw new Error("there is no console here");
      return entrance.enter(request, route);
    } catch (error) {
      const tried = request.headers.authorization !== undefined && error instanceof Problem && error.status === 401;
      return tried ? await refused(request, error) : await Promise.reject(error);
    }
  }

  async function answerConsole(request: ApiRequest, route: Route): Promise<Answer> {
    const { caller, recorded, stillIn } = await enterConsole(request, route);
    checkExpectation(request);
    const account = { tenant: DEFAULT_TENANT, key: caller.who };
    const answer = await route.handle(request, { ...nobody, account, dialect: "spec", console: caller });
    if (route.act && answer.status < 400 && !recorded())
      throw new Error(`${route.act} was done, and is not in the audit log`);
    return answer.events ? { ...answer, events: whileIn(answer.events, stillIn) } : answer;
  }

  async function answerOf(request: ApiRequest, route: Route): Promise<Answer> {
    let begun: Begun | undefined;
    try {
      if (route.console) return await answerConsole(request, route);
      const known = route.open ? nobody : holderOf(request);
      const holder = known instanceof Promise ? await known : known;
      if (!route.open) {
        request.note({ tenant: holder.account.tenant, key: holder.account.key });
        requireScope(route, holder);
        if (limiter.limits(holder)) begun = await begin(holder, route);
      }
      checkExpectation(request);
      const answer = await route.handle(request, callerOf(holder, route));
      if (route.work) limiter.accepted(holder.account, route.work);
      return answer;
    } finally {
      begun?.end();
    }
  }

  /** Those that anybody may ask for, such as health checks, and those of the console have none. */
  function beginSpan(request: ApiRequest, route: Route): void {
    if (!spans || route.open || route.console || route.routine) return;
    const { id, method, path, remote, headers } = request;
    const span = spans.request(headers, { method, route: route.path, path, remote, request_id: id });
    const note = request.note.bind(request);
    request.span = span;
    request.note = (fields) => {
      note(fields);
      span.note(fields);
    };
    request.note({ otel_trace_id: span.traceId });
  }

  async function answerTo(request: ApiRequest): Promise<Answer> {
    let extraHeaders: Readonly<Record<string, string>> = {};
    let storeAway = STORE_AWAY;
    let endpoint: string | undefined;
    try {
      if (!request.headers.host)
        throw new Problem(400, "invalid_http", {
          message: "the request has no Host, or one of Host, Authorization and Content-Type twice",
          // Where such a request ends, others may see differently.
          headers: { Connection: "close" },
        });
      if (home && request.path === "/" && isBrowser(request)) return { status: 302, headers: { Location: home } };
      const route = routeOf(request);
      endpoint = route.name;
      if (spans) beginSpan(request, route);
      extraHeaders = route.headers ?? {};
      storeAway = route.storeAway ?? STORE_AWAY;
      const answer = await answerOf(request, route);
      const headers = answer.headers ? { ...extraHeaders, ...answer.headers } : extraHeaders;
      return { ...answer, headers, endpoint, routine: route.routine === true && answer.status < 400 };
    } catch (error) {
      const problem = problemFrom(error, { request, storeAway });
      if (!request.signal.aborted) request.note({ code: problem.code });
      const answer = problemAnswer(problem, request.id);
      return { ...answer, endpoint, headers: { ...extraHeaders, ...answer.headers } };
    }
  }

  if (!spans) return answerTo;
  return async (request) => {
    const answer = await answerTo(request);
    request.span?.end({ status: request.signal.aborted ? CLIENT_GONE : answer.status });
    return answer;
  };
}

/** Written out: to copy it by its parts costs as much as to check the key. */
function callerOf({ account, scopes, tenant, limits, limitsJobs }: KeyHolder, { dialect = "spec" }: Route): Caller {
  return { account, scopes, tenant, limits, limitsJobs, dialect };
}

/** Somebody looks, and no program. */
function isBrowser({ method, headers }: ApiRequest): boolean {
  return (method === "GET" || method === "HEAD") && /\btext\/html\b/i.test(headers.accept ?? "");
}

function partsOf({ path }: Route): string[] {
  return path.split("/");
}

/** Undefined for a path that does not fit. */
function paramsOf(parts: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (parts.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const value = given[index] ?? "";
    if (!part.startsWith(":")) {
      if (part !== value) return undefined;
      continue;
    }
    const decoded = value === "" ? undefined : decodedPart(value);
    if (decoded === undefined) return undefined;
    params[part.slice(1)] = decoded;
  }
  return params;
}

function decodedPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

function checkExpectation({ headers: { expect } }: ApiRequest): void {
  if (expect === undefined || expect.toLowerCase() === "100-continue") return;
  throw new Problem(417, "expectation_failed", { message: "only Expect: 100-continue is understood" });
}

function requireScope({ scopes }: Route, holder: KeyHolder): void {
  if (!scopes || scopes.some((scope) => holder.scopes.includes(scope))) return;
  const { account } = holder;
  throw new Problem(403, "missing_scope", {
    message: `the key ${account.key} does not have the scope ${scopes.join(" or ")}`,
    hint: `an operator can make one that has it: lazaret keys create --tenant ${account.tenant} --scope ${scopes[0]}`,
  });
}

function problemFrom(
  error: unknown,
  { request, storeAway }: { request: ApiRequest; storeAway: typeof STORE_AWAY },
): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof Busy) {
    return tryLater("busy", "all scanners are busy and the waiting line is full", "try again in a few seconds");
  }
  if (error instanceof TooSlow) {
    return new Problem(408, "request_timeout", {
      message: error.message,
      hint: "try again, from a place with a better connection if you can",
    });
  }
  if (error instanceof EngineUnavailable) {
    request.note({ error: error.message });
    return tryLater(
      "engine_unavailable",
      "the scan engine gave no verdict",
      "try again; /readyz?verbose tells what is wrong",
    );
  }
  if (error instanceof QueueUnavailable) {
    request.note({ error: error.message });
    return tryLater("queue_unavailable", storeAway.message, storeAway.hint);
  }
  if (!request.signal.aborted) request.note({ error: error instanceof Error ? error.message : String(error) });
  return new Problem(500, "internal_error", {
    message: "the service failed to answer this request",
    hint: "the server's log has a line with this request_id",
  });
}
