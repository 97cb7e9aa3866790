import { findings } from "@lazaret/contract";
import type { Verdict } from "../../model/verdict.ts";

/**
 * Reads clamd's replies by a strict grammar: what is not exactly one of the known forms is no verdict.
 *
 *   <n>: stream: OK                   clean
 *   <n>: stream: <name> FOUND         infected, or the engine's own reason why it could not look
 *   INSTREAM size limit exceeded. ERROR   the file is larger than clamd's StreamMaxLength
 *   anything else                     the engine failed
 */
export type Reply = { kind: "verdict"; verdict: Verdict } | { kind: "failure"; text: string };

const FOUND = /^stream: (\S.*) FOUND$/;
const SIZE_LIMIT = "INSTREAM size limit exceeded. ERROR";
/** Names by which clamd says that it did not look at everything. */
const NOT_SCANNED = /^Heuristics\.(Limits|Encrypted)\./;
const LONGEST_FAILURE = 200;

export function readReply(text: string, commandNumber: number): Reply {
  if (text === SIZE_LIMIT || text === `${commandNumber}: ${SIZE_LIMIT}`) {
    return { kind: "verdict", verdict: { kind: "unscannable", finding: findings.limitsExceeded } };
  }
  const prefix = `${commandNumber}: `;
  if (!text.startsWith(prefix)) return failure(text);
  const body = text.slice(prefix.length);
  if (body === "stream: OK") return { kind: "verdict", verdict: { kind: "clean" } };
  const name = FOUND.exec(body)?.[1];
  if (name === undefined) return failure(text);
  return { kind: "verdict", verdict: verdictOf(name) };
}

function verdictOf(name: string): Verdict {
  if (NOT_SCANNED.test(name)) return { kind: "unscannable", finding: name };
  // Names from databases that ClamAV did not sign carry a suffix that is no part of the malware's name.
  return { kind: "infected", finding: name.replace(/\.UNOFFICIAL$/, "") };
}

/** Whether clamd says that it could not look into something encrypted. */
export function isEncrypted(verdict: Verdict): boolean {
  return verdict.kind === "unscannable" && verdict.finding.startsWith("Heuristics.Encrypted.");
}

/** Whether clamd has not looked at everything because of one of its limits, of which the time depends on what else it does. */
export function isBeyondLimits(verdict: Verdict): boolean {
  return verdict.kind === "unscannable" && verdict.finding.startsWith("Heuristics.Limits.");
}

function failure(text: string): Reply {
  return { kind: "failure", text: printable(text) };
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, LONGEST_FAILURE) || "an empty reply";
}

/** Of a stream that was not sent to its end, the only verdict to believe is that it cannot be scanned. */
export function beforeTheEnd(reply: Reply): Reply {
  if (reply.kind === "failure" || reply.verdict.kind === "unscannable") return reply;
  return { kind: "failure", text: `a verdict of ${reply.verdict.kind} before the end of the stream` };
}
