import { type Check, fail, ok, warn } from "./check.ts";

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

const TIMEOUT_MS = 15_000;

/** Is a server there, and ready? */
export async function serverCheck({ url, expected }: ServerCheckOptions): Promise<ServerAnswer> {
  let response: Response;
  try {
    response = await fetch(`${url}/readyz?verbose`, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: "error" });
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
