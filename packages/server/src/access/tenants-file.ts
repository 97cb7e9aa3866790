import { hash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { type Document, LineCounter, parseDocument } from "yaml";
import { bareThread } from "../flow/bare-thread.ts";
import { keyNameProblem, tenantProblem } from "../model/tenant.ts";
import { type Access, type Limits, SCOPES, type Scope, type StoredKey, type Tenant } from "./access-store.ts";
import { readSecret, secretDigest } from "./api-key.ts";
import { calendarDate } from "./calendar-date.ts";
import { bucketProblem, LIMIT_NAMES, parseLimit, parseWeight } from "./limits.ts";

/**
 * Tenants and keys as somebody declares them in a file (docs/tenants-file.md), JSON or YAML:
 *
 *   tenants:
 *     shop:
 *       weight: 2
 *       limits: { requestsPerSecond: 50 }
 *       keys:
 *         web: { digest: k7f3q2ab:5e88…, scopes: [scan] }
 *
 * It holds as a whole or not at all. Problems name places and never values: somebody may have put a secret there.
 */
export type TenantsFile = { looked: Looked } & (
  | { kind: "read"; access: Access; digest: string }
  | { kind: "refused"; problems: readonly string[] }
);

/** The files that were read, each with its state before that: what is written meanwhile is another. */
type Looked = ReadonlyMap<string, string>;

type Path = readonly string[];

/** Some 60,000 keys, which take seconds to read. */
const LARGEST_FILE = 8 * 1024 * 1024;
const LARGEST_SECRET = 4096;
/** Each is looked at every second. */
const MOST_SECRET_FILES = 1000;
/** More than anybody mends at once, and than a line of the log should hold. */
const MOST_PROBLEMS = 100;
const READ_WITHIN_MS = 30_000;
/** With nothing behind it each of these is as good as left out, or missed. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(["tenants", "keys", "digest", "secretFile", "scopes"]);

export function readTenantsFile(path: string): TenantsFile {
  const looked = new Map([[path, stateOf(path)]]);
  const text = readText(path, LARGEST_FILE);
  if (typeof text !== "string") return { kind: "refused", problems: [text.problem], looked };

  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true });
  // The parser's messages may quote the text, its codes do not: DUPLICATE_KEY.
  const problems = document.errors.map(
    ({ pos: [at], code }) => `line ${lines.linePos(at).line}: ${code.toLowerCase().replaceAll("_", " ")}`,
  );
  const keys: StoredKey[] = [];
  const tenants: Tenant[] = [];
  if (problems.length === 0) readAll();
  if (problems.length > 0) return { kind: "refused", problems: problems.slice(0, MOST_PROBLEMS), looked };
  return { kind: "read", access: { keys, tenants }, digest: hash("sha256", text), looked };

  function problem(at: Path, what: string): void {
    // To find a line takes longer the longer the file is.
    if (problems.length >= MOST_PROBLEMS) return;
    const shown = at.map((word) => word.replace(/lz_\w+/g, "lz_…")).join(".");
    problems.push(`line ${lineOf(document, lines, at)}: ${shown}${shown === "" ? "" : " "}${what}`);
  }

  function readAll(): void {
    let value: unknown;
    try {
      value = document.toJS();
    } catch {
      // Aliases that would grow without end.
      problem([], "the file has too many aliases");
      return;
    }
    const { tenants: declared } = fields(value, [], ["tenants"]);
    if (declared === undefined) {
      problem([], "the file must have tenants");
      return;
    }
    for (const [name, tenant] of entries(declared, ["tenants"])) readTenant(name, tenant);
    const seen = new Set<string>();
    for (const { id, tenant, name } of keys) {
      if (seen.has(id)) problem(["tenants", tenant, "keys", name], "has a digest that another key has, too");
      seen.add(id);
    }
  }

  function readTenant(name: string, value: unknown): void {
    const at = ["tenants", name];
    const wrong = tenantProblem(name);
    if (wrong !== undefined) {
      problem(at, wrong);
      return;
    }
    const { weight = 1, limits, buckets, keys: own } = fields(value ?? {}, at, ["weight", "limits", "buckets", "keys"]);
    const parsed = parseWeight(String(weight));
    if ("problem" in parsed) problem([...at, "weight"], parsed.problem);
    const patterns = buckets === undefined ? undefined : texts(buckets, [...at, "buckets"], bucketProblem);
    if (patterns?.length === 0) problem([...at, "buckets"], "must name a bucket; leave it out for all");
    tenants.push({
      name,
      weight: "value" in parsed ? parsed.value : 1,
      limits: readLimits(limits, [...at, "limits"]),
      ...(patterns && { buckets: patterns }),
    });
    if (own === undefined) return;
    for (const [key, declared] of entries(own, [...at, "keys"])) readKey(key, declared, { tenant: name, at });
  }

  function readKey(name: string, value: unknown, { tenant, at: parent }: { tenant: string; at: Path }): void {
    const at = [...parent, "keys", name];
    const wrong = keyNameProblem(name, tenant);
    if (wrong !== undefined) {
      problem(at, wrong);
      return;
    }
    const known = ["digest", "secretFile", "scopes", "expires", "limits"] as const;
    const { digest, secretFile, scopes, expires, limits } = fields(value, at, known);
    if ((digest === undefined) === (secretFile === undefined)) problem(at, "must have one of digest and secretFile");
    const asScopes = texts(scopes ?? [], [...at, "scopes"], (text) =>
      (SCOPES as readonly string[]).includes(text) ? undefined : `must be of ${SCOPES.join(", ")}`,
    ) as Scope[];
    if (asScopes.length === 0) problem(at, "must have scopes");
    const expiresAt = expires === undefined ? undefined : readDate(expires, [...at, "expires"]);
    const parts = {
      name,
      tenant,
      scopes: asScopes,
      madeAt: 0,
      limits: readLimits(limits, [...at, "limits"]),
      ...(expiresAt !== undefined && { expiresAt }),
    };
    const listed = Array.isArray(digest) && digest.length > 0 ? digest : digest === undefined ? [] : [digest];
    for (const one of listed) {
      const [, id, sum] = /^([a-z2-7]{8}):([0-9a-f]{64})$/.exec(String(one)) ?? [];
      if (id !== undefined && sum !== undefined) keys.push({ ...parts, id, digest: sum });
      else if (readSecret(String(one)).kind === "ours") {
        problem([...at, "digest"], "is a secret, which everybody who sees the file now knows: make another");
      } else problem([...at, "digest"], "must be what lazaret keys digest prints");
    }
    if (secretFile !== undefined) readSecretFile(secretFile, [...at, "secretFile"], parts);
  }

  function readSecretFile(value: unknown, at: Path, parts: Omit<StoredKey, "id" | "digest">): void {
    if (typeof value !== "string") {
      problem(at, "must be the path of a file");
      return;
    }
    if (looked.size > MOST_SECRET_FILES) {
      problem(at, `is one of more than ${MOST_SECRET_FILES} files: write digests instead`);
      return;
    }
    const secretPath = resolve(dirname(path), value);
    looked.set(secretPath, stateOf(secretPath));
    const content = readText(secretPath, LARGEST_SECRET);
    if (typeof content !== "string") {
      problem(at, content.problem);
      return;
    }
    const read = readSecret(content.trim());
    if (read.kind !== "ours") {
      problem(at, "must hold a secret that lazaret keys create made");
      return;
    }
    keys.push({ ...parts, id: read.id, digest: secretDigest(content.trim()) });
  }

  function readLimits(value: unknown, at: Path): Limits {
    const limits: Limits = {};
    for (const [name, written] of Object.entries(fields(value ?? {}, at, LIMIT_NAMES))) {
      const parsed = parseLimit(name as keyof Limits, typeof written === "object" ? "" : String(written));
      if ("value" in parsed) limits[name as keyof Limits] = parsed.value;
      else problem([...at, name], parsed.problem);
    }
    return limits;
  }

  function readDate(value: unknown, at: Path): number | undefined {
    const date = calendarDate(String(value));
    if (date === undefined) problem(at, "must be a date, such as 2027-01-31");
    return date;
  }

  function texts(value: unknown, at: Path, problemOf: (text: string) => string | undefined): string[] {
    const list = Array.isArray(value) ? value : [value];
    for (const [index, text] of list.entries()) {
      const what = typeof text === "string" ? problemOf(text) : "must be a text";
      if (what !== undefined) problem(Array.isArray(value) ? [...at, String(index)] : at, what);
    }
    return list.filter((text) => typeof text === "string");
  }

  function entries(value: unknown, at: Path): [string, unknown][] {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return Object.entries(value);
    problem(at, "must be names with what belongs to them");
    return [];
  }

  /** The fields that are known; others are problems. */
  function fields<Name extends string>(
    value: unknown,
    at: Path,
    known: readonly Name[],
  ): Partial<Record<Name, unknown>> {
    const all = entries(value, at);
    const isKnown = (name: string): boolean => (known as readonly string[]).includes(name);
    for (const [name] of all) if (!isKnown(name)) problem([...at, name], `is not known here: ${known.join(", ")}`);
    const set = all.filter(([name, content]) => isKnown(name) && content !== null);
    for (const [name, content] of all) {
      // To take it for one that was left out would open what it was there to limit.
      if (content === null && isKnown(name) && !MAY_BE_EMPTY.has(name)) problem([...at, name], "has nothing behind it");
    }
    return Object.fromEntries(set) as Partial<Record<Name, unknown>>;
  }
}

function readText(path: string, largest: number): string | { problem: string } {
  try {
    const found = statSync(path);
    // A pipe might never end.
    if (!found.isFile()) return { problem: `cannot read ${path}: it is no file` };
    if (found.size > largest) return { problem: `cannot read ${path}: it has more than ${largest} bytes` };
    return readFileSync(path, "utf8");
  } catch (error) {
    return { problem: `cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? "unreadable"}` };
  }
}

/** Of the nearest thing on the way to it that is there. */
function lineOf(document: Document, lines: LineCounter, at: Path): number {
  for (let length = at.length; length > 0; length -= 1) {
    const node = document.getIn(at.slice(0, length), true) as { range?: readonly number[] } | undefined;
    const start = node?.range?.[0];
    if (start !== undefined) return lines.linePos(start).line;
  }
  return 1;
}

/** The same beside the event loop, within a bounded time. */
function readInThread(path: string): Promise<TenantsFile> {
  const looked = new Map([[path, stateOf(path)]]);
  const thread = new Worker(new URL("./tenants-file-thread.ts", import.meta.url), {
    workerData: path,
    ...bareThread(),
  });
  thread.unref();
  return new Promise((settle) => {
    const refuse = (why: string): void =>
      settle({ kind: "refused", problems: [`cannot read ${path}: ${why}`], looked });
    const late = setTimeout(() => {
      refuse(`it takes longer than ${READ_WITHIN_MS / 1000} s`);
      void thread.terminate();
    }, READ_WITHIN_MS);
    late.unref();
    thread.once("message", settle);
    thread.once("error", (error) => refuse(error.name));
    thread.once("exit", () => {
      clearTimeout(late);
      refuse("it was not read to its end");
    });
  });
}

export interface FollowFileOptions {
  everyMs: number;
  /** The file as it is now, when it has changed. Called for mistakes too: then the state before holds. */
  onChange(read: TenantsFile): void;
  /** Instead of in a thread, for tests. */
  read?(path: string): Promise<TenantsFile>;
}

/** Reads the file again whenever it, or a secret that it names, is another than before and has stayed so for one look. */
export function followTenantsFile(path: string, first: TenantsFile, options: FollowFileOptions): Disposable {
  let taken = first.looked;
  let before = taken;
  let reading = false;
  let ended = false;

  async function look(): Promise<void> {
    const now = new Map([...taken.keys()].map((file) => [file, stateOf(file)]));
    // One that is being written may be whole by chance, with half of its keys.
    const isStill = isSame(now, before);
    before = now;
    if (isSame(now, taken) || !isStill) return;
    const read = await (options.read ?? readInThread)(path);
    taken = read.looked;
    before = taken;
    if (!ended) options.onChange(read);
  }

  const timer = setInterval(() => {
    if (reading) return;
    reading = true;
    void look().finally(() => {
      reading = false;
    });
  }, options.everyMs);
  timer.unref();
  return {
    [Symbol.dispose]() {
      ended = true;
      clearInterval(timer);
    },
  };
}

function isSame(one: Looked, other: Looked): boolean {
  return [...one].every(([file, state]) => other.get(file) === state);
}

/** Another when the file was written, exchanged or taken away. */
function stateOf(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
