import { type AdminSession, CSRF_HEADER } from "@lazaret/contract/admin";
import type { AuditEntry, AuditLog } from "../../access/audit-log.ts";
import type { Log } from "../../log.ts";
import { QueueUnavailable } from "../../model/faults.ts";
import { DEFAULT_TENANT } from "../../model/tenant.ts";
import { bearerOf } from "../bearer-auth.ts";
import { readJsonObject } from "../body/json-body.ts";
import { badRequest, Problem, tryLater } from "../problem.ts";
import type { ApiRequest } from "../request-answer.ts";
import type { ConsoleCaller, Handle, Route } from "../route.ts";
import { type ConsoleKey, type ConsoleKeys, KEY_HINT } from "./console-keys.ts";
import type { EntranceEndpoint } from "./endpoints.ts";
import { isLoopback, isLoopbackName, type OriginOptions, ownOrigin } from "./origin.ts";
import { SESSION_MS, type Session, type Sessions } from "./sessions.ts";
import { wrongLogins } from "./wrong-logins.ts";

/** The part of the answer that is the same for all. */
type InstallationFacts = Omit<AdminSession, "who" | "role" | "expires_at" | "csrf">;

export interface EntranceOptions extends OriginOptions {
  keys: ConsoleKeys;
  /** Others when the keys that are set have changed. Throws `QueueUnavailable` while they cannot be opened. */
  sessions(): Sessions;
  audit: Pick<AuditLog, "add">;
  facts(request: ApiRequest): InstallationFacts;
  log: Log;
  now: () => number;
  /** Whether this is the token of a link that was printed, which works once. */
  useLink?: ((token: string) => boolean) | undefined;
}

/** Who was let in, and whether what it does was written down. */
export interface Entered {
  caller: ConsoleCaller;
  recorded(): boolean;
  /** Whether it would be let in now. */
  stillIn(): boolean;
}

export interface Entrance {
  /** Who asks, by a key or by a session. Throws the 401 or 403 problem, also for a viewer who wants to act. */
  enter(request: ApiRequest, route: Pick<Route, "console" | "act">): Entered;
  handlers: Record<EntranceEndpoint, Handle>;
}

interface Known {
  key: ConsoleKey;
  /** Undefined for who came with the key itself. */
  session?: Session;
}

/** No list of names and keys is longer than this in the audit log. */
const LONGEST_ON = 500;

/** Bytes that strangers, who have shown no key yet, may make us hold: a key or a token is far shorter. */
const LARGEST_LOGIN = 8192;

/** Keys and sessions of the console: who comes in, and with what rights. */
export function entrance(options: EntranceOptions): Entrance {
  const { keys, sessions, audit, log, now } = options;
  const own = ownOrigin(options);
  const wrong = wrongLogins(now);

  function sessionOf({ headers }: ApiRequest): Known | undefined {
    const { cookieName, open } = sessions();
    for (const cookie of cookiesOf(headers.cookie, cookieName)) {
      const session = open(cookie);
      const key = session && keys.byRef(session.ref);
      if (key && key.digest === session.digest) return { key, session };
    }
    return undefined;
  }

  /** A key in the header stands before a session: who sends both is a script. */
  function knownOf(request: ApiRequest): Known {
    const { authorization } = request.headers;
    const secret = bearerOf(authorization);
    if (secret !== undefined) return { key: keys.bySecret(secret) };
    const known = authorization === undefined ? sessionOf(request) : undefined;
    if (known) return known;
    throw new Problem(401, "not_logged_in", {
      message: "there is no session, or it has ended",
      hint: `log in at /console/, or send the header Authorization: Bearer <KEY>: ${KEY_HINT}`,
      headers: { "WWW-Authenticate": "Bearer" },
    });
  }

  function checkPage(request: ApiRequest, session: Session): void {
    own.check(request);
    if (sessions().isCsrfOf(session, request.headers[CSRF_HEADER] ?? "")) return;
    throw new Problem(403, "csrf", {
      message: `the header ${CSRF_HEADER} is missing or wrong`,
      hint: "send the csrf of GET /admin/v1/session; scripts send the key as a bearer instead, and need none",
    });
  }

  const entry = (request: ApiRequest, who: string, what: string, on: string): AuditEntry => ({
    at: now(),
    who,
    tenant: DEFAULT_TENANT,
    what,
    on: on.length > LONGEST_ON ? `${on.slice(0, LONGEST_ON)}…` : on,
    from: request.remote,
  });

  /** Who comes and goes is let in and out though that cannot be written down. */
  async function note(request: ApiRequest, who: string, what: string, on: string): Promise<void> {
    await audit
      .add(entry(request, who, what, on))
      .catch((error: Error) => log.error("audit", { error: error.message }));
  }

  function answerOf(request: ApiRequest, { key, session }: Known): AdminSession {
    return {
      who: key.who,
      role: key.role,
      expires_at: session?.expiresAt ?? now() + SESSION_MS,
      csrf: session ? sessions().csrfOf(session) : "",
      ...options.facts(request),
    };
  }

  async function keyOf({ key, link }: Record<string, unknown>): Promise<ConsoleKey> {
    if (typeof key === "string" && link === undefined) return keys.bySecret(key);
    if (typeof link !== "string" || key !== undefined) throw badRequest("invalid_request", "send one of key and link");
    const found = options.useLink?.(link) ? keys.first() : undefined;
    if (found) return found;
    throw new Problem(401, "wrong_link", {
      message: "this link was used, has expired, or was never made",
      hint: "lazaret dev prints a new one when it starts; a key opens the console, too",
    });
  }

  return {
    enter(request, { console, act }) {
      const { key, session } = knownOf(request);
      const { ref, who, role } = key;
      request.note({ tenant: DEFAULT_TENANT, key: who });
      if (console === "acts") {
        if (session) checkPage(request, session);
        if (role !== "admin") throw viewerMayNot(who);
      }
      let recorded = false;
      const record: ConsoleCaller["record"] = async (on, details) => {
        const line = entry(request, who, act ?? request.path, on);
        await audit.add({ ...line, ...(details && { details }) }).catch((error: Error) => {
          request.note({ error: error.message });
          throw tryLater("audit_unavailable", "the audit log cannot be written, so nothing was done", "try again");
        });
        recorded = true;
      };
      return {
        caller: { ref, who, role, byCookie: session !== undefined, record },
        recorded: () => recorded,
        stillIn() {
          try {
            return knownOf(request).key.role === role;
          } catch (error) {
            // While nobody knows, nobody is thrown out.
            return error instanceof QueueUnavailable;
          }
        },
      };
    },

    handlers: {
      async adminLogin(request) {
        own.check(request, true);
        wrong.check(request.remote);
        checkKept(request);
        const body = await readJsonObject(request, LARGEST_LOGIN);
        // Again, as many may have come at once.
        wrong.check(request.remote);
        let key: ConsoleKey;
        try {
          key = await keyOf(body);
        } catch (error) {
          if (error instanceof Problem && error.status !== 400) {
            if (wrong.failed(request.remote)) await note(request, "", "console.login-refused", error.code);
          }
          throw error;
        }
        const { session, cookie } = sessions().begin(key);
        await note(request, key.who, "console.login", body.link === undefined ? key.role : `${key.role}, by link`);
        request.note({ tenant: DEFAULT_TENANT, key: key.who });
        const set = setCookie(sessions().cookieName, cookie, {
          secure: mustBeSecure(request),
          maxAge: SESSION_MS / 1000,
        });
        return { status: 200, headers: { "Set-Cookie": set }, json: answerOf(request, { key, session }) };
      },

      async adminLogout(request) {
        // Browsers keep the session back from pages of others, and yet take the answer's word that it is gone.
        own.check(request, true);
        const known = sessionOf(request);
        if (known?.session) {
          checkPage(request, known.session);
          sessions().end(known.session);
          await note(request, known.key.who, "console.logout", known.key.role);
        }
        const set = setCookie(sessions().cookieName, "", { secure: mustBeSecure(request), maxAge: 0 });
        return { status: 204, headers: { "Set-Cookie": set } };
      },

      async adminSession(request) {
        return { status: 200, json: answerOf(request, knownOf(request)) };
      },
    },
  };
}

function viewerMayNot(who: string): Problem {
  return new Problem(403, "viewer", {
    message: `the key ${who} may look, and do nothing`,
    hint: "LAZARET_ADMIN_KEYS, and keys of lazaret keys create --scope admin, may",
  });
}

/** All of that name: a browser may send one of another path as well. */
function cookiesOf(header: string | undefined, name: string): string[] {
  return (header ?? "").split(";").flatMap((pair) => {
    const [key, value] = pair.split("=", 2).map((part) => part.trim());
    return key === name && value ? [value] : [];
  });
}

/** A cookie that only travels by HTTPS, unless browser and service are on one machine. */
function mustBeSecure({ headers, remote }: ApiRequest): boolean {
  return headers.origin?.startsWith("https:") || !isLoopback(remote);
}

/** A page that came by plain HTTP from elsewhere would lose its cookie at once, which nobody understands: so that is said. */
function checkKept({ headers: { origin } }: ApiRequest): void {
  if (origin === undefined || origin.startsWith("https:") || isLoopbackName(URL.parse(origin)?.host ?? "")) return;
  throw badRequest(
    "https_needed",
    "a browser keeps a session of this service only when it comes by HTTPS, or from the same machine",
    "set LAZARET_TLS_CERT and LAZARET_TLS_KEY, put a proxy with TLS in front, or use a tunnel: ssh -L 8040:127.0.0.1:8040 …",
  );
}

/**
 * Without a path it is that of the call itself, /admin/v1, wherever a proxy has put that: it is sent to no other part of the service, and to
 * nothing else at this address.
 */
function setCookie(name: string, value: string, { secure, maxAge }: { secure: boolean; maxAge: number }): string {
  return `${name}=${value}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}`;
}
