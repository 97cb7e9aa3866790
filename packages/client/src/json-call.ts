import { UnexpectedAnswerError } from "./errors.ts";
import { type Answer, parsedJson } from "./http/answer-error.ts";
import type { RequestBody } from "./http/send.ts";
import { parseResult, type ScanResult } from "./result.ts";

export function jsonBody(fields: object): RequestBody {
  const content = JSON.stringify(fields);
  return {
    contentType: "application/json",
    replayable: true,
    open: async () => ({ content, close() {} }),
  };
}

/** The result an answer holds. One that is not understood is thrown away loudly, never taken for clean. */
export function resultIn(answer: Answer): ScanResult {
  const parsed = parseResult(parsedJson(answer.text));
  if ("result" in parsed) return parsed.result;
  throw new UnexpectedAnswerError(`the answer is no scan result: ${parsed.problem}`, {
    status: answer.status,
    code: "unexpected_answer",
    hint: "check that baseUrl is a Lazaret server",
    requestId: answer.headers.get("x-request-id") ?? undefined,
  });
}
