import { parsedJson } from "../http/answer-error.ts";
import { isRecord, parseResult, type ScanResult } from "../result.ts";
import type { CallbackPayload } from "../wire.ts";
import { CallbackRefusedError } from "./refused.ts";

/** A result as a callback brings it. Branch on `status`. */
export type CallbackResult = ScanResult & Omit<CallbackPayload, "status" | "finding" | "realfiletype">;

const required = ["download_time", "scan_time", "download_url"];
const optional = ["trace_id", "custom_data"];

/** From the body of a callback that is known to be authentic. */
export function parsePayload(body: Uint8Array): CallbackResult {
  const value = parsedJson(new TextDecoder().decode(body));
  const parsed = parseResult(value);
  if ("problem" in parsed) throw malformed(parsed.problem);
  const { size } = parsed.result;
  if (!isRecord(value) || size === undefined) throw malformed("its size is not there");
  for (const name of required) if (typeof value[name] !== "string") throw malformed(`its ${name} is no text`);
  const wrong = optional.find((name) => value[name] !== undefined && typeof value[name] !== "string");
  if (wrong) throw malformed(`its ${wrong} is no text`);
  const texts = [...required, ...optional].filter((name) => value[name] !== undefined);
  const fields = Object.fromEntries(texts.map((name) => [name, value[name]]));
  return { ...parsed.result, size, ...fields } as CallbackResult;
}

function malformed(problem: string): CallbackRefusedError {
  return new CallbackRefusedError(
    "malformed_body",
    `the signature is right, but the body is no scan result: ${problem}`,
  );
}
