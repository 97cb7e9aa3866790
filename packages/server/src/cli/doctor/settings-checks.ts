import { SHORTEST_KEY } from "../../compose/api-keys.ts";
import type { ReadSettings } from "../../settings/read-settings.ts";
import type { Settings } from "../../settings.ts";
import { type Check, fail, ok, warn } from "./check.ts";

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
  const { apiKeys, awsApiKeysSecret, role, tlsCert, tlsKey, allowHttpCallbacks, signCallbackInvocations } = settings;
  if (apiKeys.length === 0 && awsApiKeysSecret === "" && role !== "worker") {
    checks.push(
      warn("api keys", "none is set: lazaret dev makes its own, lazaret serve does not start", "set LAZARET_API_KEYS"),
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
