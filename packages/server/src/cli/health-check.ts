import type { IncomingMessage } from "node:http";
import { timeLimit } from "../flow/time-limit.ts";
import { exitCodes } from "./exit-codes.ts";
import { loadSettings } from "./load-settings.ts";
import { ownPlace, ownUrl } from "./own-url.ts";
import { out, printable, say } from "./terminal/output.ts";

/** Shorter than the time limits of those who run it: its words are worth more than theirs. */
const ANSWER_MS = 8000;
/** More than all checks of a service are long. */
const LONGEST_ANSWER = 64 * 1024;

/**
 * Asks the service that these settings describe whether it can scan, or only whether it is alive, and answers the exit code. Run every
 * few seconds by those who watch a container, so this file imports no more than it needs.
 */
export async function checkHealth({ live }: { live: boolean }): Promise<number> {
  const { settings } = loadSettings({}, {});
  const url = ownUrl(settings);
  // By its parts: `fe80::1%eth0` can be listened on, but no link can have it.
  const place = { ...ownPlace(settings), path: live ? "/livez" : "/readyz?verbose", tls: settings.tlsCert !== "" };
  try {
    const { status, text } = await get(place);
    if (status === (live ? 204 : 200)) {
      out(`${live ? "alive" : "ready"}: ${url}\n`);
      return exitCodes.clean;
    }
    say(`lazaret: ${live ? "not alive" : "not ready"}: ${url} answered ${status}\n${failedChecks(text)}`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    say(`lazaret: no answer from ${url}: ${code ?? message}\nhint: ${hintFor(code)}\n`);
  }
  return exitCodes.unhealthy;
}

function hintFor(code: string | undefined): string {
  if (code === "ECONNREFUSED") return "is it started, with the same LAZARET_HOST and LAZARET_PORT as this command?";
  if (code === "EPROTO" || code === "ECONNRESET")
    return "one side may speak TLS: LAZARET_TLS_CERT must be the same for both";
  return "lazaret doctor looks at what may be wrong";
}

/** What is not well, a line each, from what /readyz?verbose says. */
function failedChecks(text: string): string {
  try {
    const { checks = [] } = JSON.parse(text) as { checks?: { name: string; ok: boolean; detail: string }[] };
    return checks.map(({ name, ok, detail }) => (ok ? "" : `  ${name}: ${printable(detail)}\n`)).join("");
  } catch {
    return "";
  }
}

interface AskedPlace {
  host: string;
  port: number;
  path: string;
  tls: boolean;
}

async function get({ tls, ...place }: AskedPlace): Promise<{ status: number; text: string }> {
  // Not by import, which asks node:http for all that it exports, and so loads fetch and WebSocket too: half of the time that this takes.
  const { request } = process.getBuiltinModule(tls ? "node:https" : "node:http");
  // Not verified: it is this machine that is asked, under a name that no certificate has, and nothing secret is sent.
  using limit = timeLimit(ANSWER_MS);
  const options = { ...place, agent: false, rejectUnauthorized: false, signal: limit.signal };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(options, resolve).once("error", reject).end();
    });
    let text = "";
    for await (const part of response.setEncoding("utf8")) {
      text += part;
      if (text.length > LONGEST_ANSWER) throw new Error("its answer is none of ours");
    }
    return { status: response.statusCode ?? 0, text };
  } catch (error) {
    if (!limit.signal.aborted) throw error;
    throw new Error(`nothing within ${ANSWER_MS / 1000} s`, { cause: error });
  }
}
