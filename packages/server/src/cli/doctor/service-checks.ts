import { timeLimit } from "../../flow/time-limit.ts";
import { SHORTEST_KEY } from "../../pipeline/limits.ts";
import type { ReadSettings } from "../../settings/read-settings.ts";
import type { Settings } from "../../settings.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const TIMEOUT_MS = 15_000;

/** Whether the settings can be read, each problem by itself. */
export function readingChecks(read: ReadSettings): Check[] {
  if (read.kind === "problems") {
    return read.problems.map(({ name, problem, hint }) =>
      fail("settings", `${name} ${problem}`, hint ?? "lazaret config lists every setting"),
    );
  }
  const set = Object.values(read.origins).filter((origin) => origin !== "default").length;
  return [ok("settings", `${set} set, none wrong`)];
}

/** What each setting allows and all of them together do not. */
export function meaningChecks(settings: Settings): Check[] {
  const checks: Check[] = [];
  const { apiKeys, awsApiKeysSecret, tenantsFile, role, tlsCert, tlsKey, allowHttpCallbacks, signCallbackInvocations } =
    settings;
  if (apiKeys.length === 0 && awsApiKeysSecret === "" && tenantsFile === "" && role !== "worker") {
    checks.push(
      warn(
        "api keys",
        "none is set: lazaret dev makes its own, lazaret serve takes those that lazaret keys create made",
        "lazaret keys list shows those; or set LAZARET_API_KEYS",
      ),
    );
  }
  if (apiKeys.some((key) => key.length < SHORTEST_KEY)) {
    checks.push(
      warn(
        "api keys",
        `one has fewer than ${SHORTEST_KEY} characters: lazaret dev takes it, lazaret serve does not start`,
        "openssl rand -hex 24 makes a good one",
      ),
    );
  }
  if ((tlsCert === "") !== (tlsKey === "")) {
    checks.push(fail("tls", "one of LAZARET_TLS_CERT and LAZARET_TLS_KEY is missing", "set both, or neither"));
  }
  if (allowHttpCallbacks) {
    checks.push(
      warn(
        "callbacks",
        "plain http is allowed: results, and headers of clients, are readable on their way",
        "unset LAZARET_ALLOW_HTTP_CALLBACKS where others than you submit jobs",
      ),
    );
  }
  if (!signCallbackInvocations) {
    checks.push(
      warn(
        "callbacks",
        "lazaret serve does not sign them: receivers cannot tell who sent one",
        "set LAZARET_SIGN_CALLBACK_INVOCATIONS=true",
      ),
    );
  }
  return checks;
}

export interface ServerAnswer {
  check: Check;
  /** Milliseconds since 1970, by its clock. */
  time?: number;
}

export interface ServerCheckOptions {
  url: string;
  /** Somebody said that there is one. */
  expected: boolean;
}

/** Is a server there, and ready? */
export async function serverCheck({ url, expected }: ServerCheckOptions): Promise<ServerAnswer> {
  using limit = timeLimit(TIMEOUT_MS);
  let response: Response;
  try {
    response = await fetch(`${url}/readyz?verbose`, { signal: limit.signal, redirect: "error" });
  } catch (error) {
    if (isAboutCertificate(error)) {
      const detail = `one answers at ${url}, with a certificate that is not good for this address`;
      return { check: ok("server", `${detail}; set LAZARET_URL to the name it is for to ask it`) };
    }
    const detail = `none at ${url}`;
    if (!expected) return { check: ok("server", `${detail}, which is fine if none should run`) };
    return { check: fail("server", detail, "start it, or set LAZARET_URL to where it is") };
  }
  const time = Date.parse(response.headers.get("date") ?? "");
  const about = Number.isNaN(time) ? {} : { time };
  const state = (await response.json().catch(() => undefined)) as ReadyAnswer | undefined;
  if (typeof state?.ready !== "boolean") {
    return { check: fail("server", `what answers at ${url} is no Lazaret`, "set LAZARET_URL to where it is") };
  }
  if (state.ready) return { check: ok("server", `ready at ${url}`), ...about };
  const bad = (state.checks ?? []).filter((each) => !each.ok).map(({ name, detail }) => `${name}: ${detail}`);
  return { check: warn("server", `not ready at ${url}: ${bad.join("; ")}`, "see what it says, and its log"), ...about };
}

function isAboutCertificate(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return /CERT|UNABLE_TO_(?:GET|VERIFY)/.test(code);
}

interface ReadyAnswer {
  ready: boolean;
  checks?: readonly { name: string; ok: boolean; detail: string }[];
}
