import {
  checkHeaders,
  customDataProblem,
  type HeaderMap,
  isPlainHttp,
  OBJECT_KEY_MAX_BYTES,
  traceIdProblem,
  urlProblem,
} from "@lazaret/contract";
import type { Callback, JobSource, Submission } from "../../model/job.ts";
import type { ObjectRef } from "../../model/source.ts";
import type { Account } from "../../model/tenant.ts";

/**
 * What other producers send to a queue of scans:
 *
 *   S3 event notification                                  {"Records": [{"eventName": "ObjectCreated:Put", "s3": …}]}
 *   EventBridge event of S3                                {"detail-type": "Object Created", "detail": …}
 *   either of them, or the next two, in an SNS message     {"Type": "Notification", "Message": "…"}
 *   objects                                                {"objects": [{"bucket", "key", "version"?, "trace_id"?, …}]}
 *   downloads                                              {"downloads": [{"download_url", "callback_url"?, …}]}
 */
export type RawMessage =
  /** `problems` says which of several could not be understood; the rest are to be scanned all the same. */
  | { kind: "jobs"; submissions: RawSubmission[]; problems: string[] }
  /** It asks for nothing: S3's test of the connection, or an event of another kind. */
  | { kind: "nothing" }
  | { kind: "garbage"; reason: string };

export type RawSubmission = Omit<Submission, keyof Account>;

/** What requests have to pass besides the contract's rules, so that no way in is wider than another. */
export interface RawChecks {
  /** What is wrong with an object's names. */
  object(object: ObjectRef): string | undefined;
  /** What is wrong with an address that a file is fetched from, or that a result is posted to. */
  download(url: string): string | undefined;
  callback(url: string): string | undefined;
  allowHttpCallbacks: boolean;
  /** False where nothing outside may be reached. */
  allowDownloads: boolean;
}

/** SNS may carry an event of EventBridge; nothing is wrapped more often than that. */
const DEEPEST = 2;

/** Never throws. Reasons say which field is wrong and why, and no values of headers. */
export function readRawMessage(body: string, checks: RawChecks): RawMessage {
  try {
    return unwrapped(body, checks, 0);
  } catch (error) {
    if (error instanceof RawProblem) return { kind: "garbage", reason: error.message };
    throw error;
  }
}

function unwrapped(body: string, checks: RawChecks, depth: number): RawMessage {
  const message = parsedJson(body);
  if (!isRecord(message)) throw new RawProblem("the message is not a JSON object");
  if (typeof message.Message === "string" && typeof message.Type === "string") {
    if (message.Type !== "Notification") throw new RawProblem("the message is not a notification of SNS");
    if (depth === DEEPEST) throw new RawProblem("the message is wrapped too often");
    return unwrapped(message.Message, checks, depth + 1);
  }
  if (message.lazaret === "sealed job") throw new RawProblem("the message is a job that was sealed with another key");
  if (message.Event === "s3:TestEvent") return { kind: "nothing" };
  if (Array.isArray(message.Records)) return each("Records", message.Records, (record) => s3Record(record, checks));
  if (message["detail-type"] !== undefined) return one(eventBridge(message, checks));
  if (Array.isArray(message.objects)) return each("objects", message.objects, (entry) => objectEntry(entry, checks));
  if (Array.isArray(message.downloads)) {
    return each("downloads", message.downloads, (entry) => downloadEntry(entry, checks));
  }
  throw new RawProblem("the message has neither Records, detail-type, objects nor downloads");
}

/** Undefined for an entry that asks for nothing. */
function each(
  name: string,
  entries: readonly unknown[],
  read: (entry: RawRecord) => RawSubmission | undefined,
): RawMessage {
  if (entries.length === 0) throw new RawProblem(`${name} is empty`);
  const submissions: RawSubmission[] = [];
  const problems: string[] = [];
  for (const [index, entry] of entries.entries()) {
    try {
      if (!isRecord(entry)) throw new RawProblem("is not an object");
      const submission = read(entry);
      if (submission) submissions.push(submission);
    } catch (error) {
      if (!(error instanceof RawProblem)) throw error;
      problems.push(`${name}[${index}] ${error.message}`);
    }
  }
  if (submissions.length > 0) return { kind: "jobs", submissions, problems };
  if (problems.length > 0) return { kind: "garbage", reason: problems.slice(0, 5).join("; ") };
  return { kind: "nothing" };
}

function one(submission: RawSubmission | undefined): RawMessage {
  return submission ? { kind: "jobs", submissions: [submission], problems: [] } : { kind: "nothing" };
}

function s3Record(record: RawRecord, checks: RawChecks): RawSubmission | undefined {
  const { eventName, s3 } = record;
  if (typeof eventName !== "string") throw new RawProblem("has no eventName");
  if (!isRecord(s3) || !isRecord(s3.bucket) || !isRecord(s3.object)) throw new RawProblem("is no event of S3");
  if (!/^(s3:)?ObjectCreated:/.test(eventName)) return undefined;
  const key = formDecoded(textOf(s3.object, "key"), "key");
  return { source: objectSource({ bucket: textOf(s3.bucket, "name"), key, version: s3.object.versionId }, checks) };
}

function eventBridge(event: RawRecord, checks: RawChecks): RawSubmission | undefined {
  const { detail } = event;
  if (event.source !== "aws.s3") throw new RawProblem("the event is not one of S3");
  if (event["detail-type"] !== "Object Created") return undefined;
  if (!isRecord(detail) || !isRecord(detail.bucket) || !isRecord(detail.object)) {
    throw new RawProblem("the event names no object");
  }
  const { bucket, object } = detail;
  const names = { bucket: textOf(bucket, "name"), key: textOf(object, "key"), version: object["version-id"] };
  return { source: objectSource(names, checks) };
}

function objectEntry(entry: RawRecord, checks: RawChecks): RawSubmission {
  const { version } = entry;
  const source = objectSource({ bucket: textOf(entry, "bucket"), key: textOf(entry, "key"), version }, checks);
  return { source, ...echoed(entry) };
}

function objectSource(names: { bucket: string; key: string; version: unknown }, checks: RawChecks): JobSource {
  const { bucket, key, version } = names;
  if (version !== undefined && typeof version !== "string") throw new RawProblem("has a version that is not a string");
  const object = { bucket, key, ...(version !== undefined && version !== "" && { version }) };
  if (Object.values(object).some((name) => name.includes("\0"))) throw new RawProblem("has a NUL character in a name");
  if (Object.values(object).some((name) => Buffer.byteLength(name) > OBJECT_KEY_MAX_BYTES)) {
    throw new RawProblem("has a name that is too long");
  }
  const problem = checks.object(object);
  if (problem !== undefined) throw new RawProblem(`names an object that cannot be: ${problem}`);
  return { kind: "object", ...object };
}

function downloadEntry(entry: RawRecord, checks: RawChecks): RawSubmission {
  if (!checks.allowDownloads) throw new RawProblem("is a download, and downloads are turned off");
  const url = address(entry, "download_url", checks);
  const callback = callbackOf(entry, checks);
  return {
    source: { kind: "url", url, headers: headersOf(entry, "download_headers") },
    ...(callback && { callback }),
    ...echoed(entry),
  };
}

function callbackOf(entry: RawRecord, checks: RawChecks): Callback | undefined {
  if (entry.callback_url === undefined) return undefined;
  const url = address(entry, "callback_url", checks);
  if (isPlainHttp(url) && !checks.allowHttpCallbacks) throw new RawProblem("has a callback_url that is plain http");
  return { url, headers: headersOf(entry, "callback_headers") };
}

function address(entry: RawRecord, name: "download_url" | "callback_url", checks: RawChecks): string {
  const url = textOf(entry, name);
  if (urlProblem(url) !== undefined) throw new RawProblem(`has a ${name} that is too long`);
  const problem = name === "download_url" ? checks.download(url) : checks.callback(url);
  if (problem !== undefined) throw new RawProblem(`has a ${name} that is refused: ${problem}`);
  return url;
}

function headersOf(entry: RawRecord, name: HeaderMap): Record<string, string> {
  const headers = entry[name] ?? {};
  if (!isRecord(headers)) throw new RawProblem(`has ${name} that are not an object`);
  const checked = checkHeaders(headers, name);
  if (checked.kind === "invalid") throw new RawProblem(`has ${name} that are refused: ${checked.message}`);
  return checked.headers;
}

/** What comes back with the answer. */
function echoed({ trace_id, custom_data }: RawRecord): Pick<Submission, "traceId" | "customData"> {
  if (trace_id !== undefined && !isTraceId(trace_id)) throw new RawProblem("has a trace_id that cannot be one");
  if (custom_data !== undefined && typeof custom_data !== "string") {
    throw new RawProblem("has custom_data that is not a string");
  }
  if (custom_data !== undefined && customDataProblem(custom_data) !== undefined) {
    throw new RawProblem("has custom_data that is too large");
  }
  return {
    ...(trace_id !== undefined && { traceId: trace_id }),
    ...(custom_data !== undefined && { customData: custom_data }),
  };
}

function isTraceId(value: unknown): value is string {
  return traceIdProblem(value) === undefined;
}

type RawRecord = Record<string, unknown>;

/** Why a message of another producer cannot be understood. */
class RawProblem extends Error {}

function isRecord(value: unknown): value is RawRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RawProblem("the message is not JSON");
  }
}

function textOf(record: RawRecord, name: string): string {
  const value = record[name];
  if (typeof value !== "string" || value === "") throw new RawProblem(`has no ${name}`);
  return value;
}

/** S3 writes keys into its notifications as browsers write forms: a plus is a space. */
function formDecoded(text: string, name: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new RawProblem(`has a ${name} that is not form-url-encoded`);
  }
}
