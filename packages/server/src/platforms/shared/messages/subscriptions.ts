import { hash } from "node:crypto";
import { DOWNLOAD_SCAN_RESULT, SCAN_RESULT } from "@lazaret/contract";
import { type Checked, type FilterPolicy, isObject, parseFilterPolicy } from "./filter-policy.ts";

/** Somebody who is sent messages. */
export interface Receiver {
  /** Ours: the same as long as protocol and endpoint are, in every process and after each start. Tells no secret. */
  id: string;
  protocol: Protocol;
  /** As the operator wrote it. May hold a secret. */
  endpoint: string;
  /** Without credentials and query. */
  shownEndpoint: string;
}

type Protocol = "https" | "http" | "email" | "file";

/** A receiver of the findings topic. */
export interface Subscription extends Receiver {
  filterPolicy?: FilterPolicy;
  /** How the body is written: the message itself (the default), or an envelope around it as SNS has it. */
  format?: Format;
}

type Format = (typeof formats)[number];
const formats = ["message", "envelope"] as const;

/** A receiver of the event bus. */
export interface BusTarget extends Receiver {
  /** The events it wants; all of them when there is none. */
  detailTypes?: readonly string[];
}

export interface ReceiverRules {
  /** Plain http to any host, not only to this machine. */
  allowHttp?: boolean;
}

type Parsed<T> = { value: T } | { problem: string };

/**
 * `[{"protocol": "https", "endpoint": "https://…", "filterPolicy": {…}, "format": "envelope"}, …]`. Says all that is
 * wrong, entry by entry.
 */
export function parseSubscriptions(text: string, rules: ReceiverRules = {}): Parsed<readonly Subscription[]> {
  const protocols = ["https", "http", "email", "file"] as const;
  return parseList(text, (entry) =>
    both(
      receiverOf(entry, { ...rules, what: "topic", protocols, options: ["filterPolicy", "format"] }),
      both(policyOf(entry), formatOf(entry)),
    ),
  );
}

/** `[{"protocol": "https", "endpoint": "https://…", "filter": {"detail-type": ["Scan Result"]}}, …]`; as above. */
export function parseEventTargets(text: string, rules: ReceiverRules = {}): Parsed<readonly BusTarget[]> {
  const protocols = ["https", "http", "file"] as const;
  return parseList(text, (entry) =>
    both(receiverOf(entry, { ...rules, what: "bus", protocols, options: ["filter"] }), detailTypesOf(entry)),
  );
}

type Entry = Readonly<Record<string, unknown>>;

function parseList<T extends Receiver>(text: string, parse: (entry: Entry) => Checked<T>): Parsed<readonly T[]> {
  const list = text.trim() === "" ? [] : listOf(text);
  if (!list) return { problem: 'must be a JSON list, such as [{"protocol":"file","endpoint":"findings.jsonl"}]' };
  const values: T[] = [];
  const problems: string[] = [];
  const entryOf = new Map<string, number>();
  for (const [index, entry] of list.entries()) {
    const checked = isObject(entry) ? parse(entry) : { problems: ["must be an object"] };
    const found = "problems" in checked ? checked.problems : twice(entryOf.get(checked.value.id));
    problems.push(...found.map((problem) => `entry ${index + 1}: ${problem}`));
    if ("problems" in checked || found.length > 0) continue;
    values.push(checked.value);
    entryOf.set(checked.value.id, index + 1);
  }
  return problems.length > 0 ? { problem: problems.join("; ") } : { value: values };
}

function listOf(text: string): readonly unknown[] | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return Array.isArray(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

function twice(before: number | undefined): string[] {
  return before === undefined ? [] : [`has the same endpoint as entry ${before}; put what it wants into one filter`];
}

interface EntryRules extends ReceiverRules {
  what: "topic" | "bus";
  protocols: readonly Protocol[];
  /** What else an entry may have. */
  options: readonly string[];
}

function receiverOf(entry: Entry, rules: EntryRules): Checked<Receiver> {
  const known = ["protocol", "endpoint", ...rules.options];
  const problems = Object.keys(entry)
    .filter((name) => !known.includes(name))
    .map((name) => `${name} is not known; an entry has ${known.join(", ")}`);
  const protocol = rules.protocols.find((name) => name === entry.protocol);
  if (!protocol) problems.push(`protocol must be one of ${rules.protocols.join(", ")}`);
  const { endpoint } = entry;
  if (typeof endpoint !== "string") return { problems: [...problems, "endpoint must be a string"] };
  const wrong = protocol && endpointProblem(protocol, endpoint, rules);
  if (wrong) problems.push(`endpoint ${wrong}`);
  if (problems.length > 0 || !protocol) return { problems };
  const id = hash("sha256", [rules.what, protocol, endpoint].join("\0")).slice(0, ID_DIGITS);
  return { value: { id, protocol, endpoint, shownEndpoint: shown(protocol, endpoint) } };
}

const ID_DIGITS = 16;

function endpointProblem(protocol: Protocol, endpoint: string, { allowHttp }: ReceiverRules): string | undefined {
  if (protocol === "file") return /^[^\0]*[^\0/]$/.test(endpoint) ? undefined : "must be the path of a file";
  if (protocol === "email") return isMailAddress(endpoint) ? undefined : "must be one address, as name@example.com";
  const url = URL.parse(endpoint);
  const right = url?.protocol === `${protocol}:` && url.hash === "" && /^[\x21-\x7e]+$/.test(endpoint);
  if (!url || !right || !isEncoded(url.username) || !isEncoded(url.password)) return `must be an ${protocol} URL`;
  if (protocol === "https" || allowHttp || isLoopback(url.hostname)) return undefined;
  return "must be https; plain http is for this machine only";
}

function isEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function shown(protocol: Protocol, endpoint: string): string {
  if (protocol === "file" || protocol === "email") return endpoint;
  const { origin, pathname } = new URL(endpoint);
  return `${origin}${pathname}`;
}

function policyOf({ filterPolicy }: Entry): Checked<Pick<Subscription, "filterPolicy">> {
  if (filterPolicy === undefined) return { value: {} };
  const policy = parseFilterPolicy(filterPolicy);
  if ("value" in policy) return { value: { filterPolicy: policy.value } };
  return { problems: policy.problems.map((problem) => `filterPolicy: ${problem}`) };
}

function formatOf({ protocol, format = "message" }: Entry): Checked<{ format: Format }> {
  const chosen = formats.find((name) => name === format);
  if (!chosen) return { problems: [`format must be one of ${formats.join(", ")}`] };
  if (chosen === "envelope" && protocol === "email") return { problems: ["format envelope is not for emails"] };
  return { value: { format: chosen } };
}

function detailTypesOf({ filter }: Entry): Checked<Pick<BusTarget, "detailTypes">> {
  if (filter === undefined) return { value: {} };
  const types = isObject(filter) && Object.keys(filter).join() === "detail-type" ? filter["detail-type"] : undefined;
  const events: readonly unknown[] = [SCAN_RESULT, DOWNLOAD_SCAN_RESULT];
  const right = Array.isArray(types) && types.length > 0 && types.every((type) => events.includes(type));
  if (right) return { value: { detailTypes: types } };
  return { problems: [`filter must be {"detail-type": […]} with ${events.map((type) => `"${type}"`).join(" or ")}`] };
}

function both<A, B>(first: Checked<A>, second: Checked<B>): Checked<A & B> {
  if ("value" in first && "value" in second) return { value: { ...first.value, ...second.value } };
  return { problems: [first, second].flatMap((checked) => ("problems" in checked ? checked.problems : [])) };
}

/** Where emails go out, and who they are from. */
export interface MailSettings {
  /** `smtp://` or `smtps://`, with user, password, host and port, and nodemailer's options as parameters. A secret. */
  smtpUrl: string;
  /** An address, or a name and an address. */
  from: string;
}

/** Empty is allowed: there is no mail server. */
export function parseSmtpUrl(text: string): Parsed<string> {
  const url = URL.parse(text);
  const right = url && /^smtps?:$/.test(url.protocol) && url.hostname !== "" && /^\/?$/.test(url.pathname);
  return text === "" || right ? { value: text } : { problem: "must be smtp://user:password@host:port, or smtps://" };
}

/** Empty is allowed: there is no sender. */
export function parseMailFrom(text: string): Parsed<string> {
  if (text === "" || isMailAddress(text)) return { value: text };
  const [, name = "", address = ""] = /^([^<>]*)<([^<>]*)>$/.exec(text) ?? [];
  const right = isMailAddress(address) && !/[\p{C}\p{Zl}\p{Zp}",;:@()[\]\\]/u.test(name);
  return right ? { value: text } : { problem: "must be an address, as name@example.com or Name <name@example.com>" };
}

/** One address, with nothing that could end a header or an SMTP command, or be taken for a list or a name. */
function isMailAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s\p{C}@<>()[\],:;"\\]+@[^\s\p{C}@<>()[\],:;"\\]+$/u.test(text);
}
