import type { Begun, Limiter } from "../access/limiter.ts";
import { Busy, EngineUnavailable, QueueUnavailable, TooSlow } from "../model/faults.ts";
import { type BearerAuth, EndedKey, type WrongKeys } from "./bearer-auth.ts";
import { beyondLimit } from "./beyond-limit.ts";
import { Problem, problemAnswer, tryLater } from "./problem.ts";
import type { Answer, ApiRequest } from "./request-answer.ts";
import type { KeyHolder, Route } from "./route.ts";

export interface ApiOptions {
  routes: readonly Route[];
  auth: BearerAuth;
  /** Who tries keys is slowed down, if there is such a thing. */
  wrongKeys?: WrongKeys;
  limiter: Limiter;
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
  const { routes, auth, wrongKeys, limiter } = options;
  const byPath = Map.groupBy(routes, (route) => route.path);
  const prefixes = routes.filter((route) => route.prefix);

  function routeOf(request: ApiRequest): Route {
    const candidates = byPath.get(request.path) ?? prefixes.filter((route) => request.path.startsWith(route.path));
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

  return async (request) => {
    let begun: Begun | undefined;
    let extraHeaders: Readonly<Record<string, string>> = {};
    let storeAway = STORE_AWAY;
    try {
      if (!request.headers.host)
        throw new Problem(400, "invalid_http", {
          message: "the request has no Host, or one of Host, Authorization and Content-Type twice",
          // Where such a request ends, others may see differently.
          headers: { Connection: "close" },
        });
      const route = routeOf(request);
      extraHeaders = route.headers ?? {};
      storeAway = route.storeAway ?? STORE_AWAY;
      const known = route.open ? nobody : holderOf(request);
      const holder = known instanceof Promise ? await known : known;
      if (!route.open) {
        request.note({ tenant: holder.account.tenant, key: holder.account.key });
        requireScope(route, holder);
        if (limiter.limits(holder)) begun = await begin(holder, route);
      }
      const expects = request.headers.expect;
      if (expects !== undefined && expects.toLowerCase() !== "100-continue") {
        throw new Problem(417, "expectation_failed", { message: "only Expect: 100-continue is understood" });
      }
      const answer = await route.handle(request, { ...holder, dialect: route.dialect ?? "spec" });
      if (route.work) limiter.accepted(holder.account, route.work);
      const headers = answer.headers ? { ...extraHeaders, ...answer.headers } : extraHeaders;
      return { ...answer, headers, routine: route.routine === true && answer.status < 400 };
    } catch (error) {
      const problem = problemFrom(error, { request, storeAway });
      if (!request.signal.aborted) request.note({ code: problem.code });
      const answer = problemAnswer(problem, request.id);
      return { ...answer, headers: { ...extraHeaders, ...answer.headers } };
    } finally {
      begun?.end();
    }
  };
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
