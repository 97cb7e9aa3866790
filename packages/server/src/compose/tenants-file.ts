import { hostname } from "node:os";
import type { Access } from "../access/access-store.ts";
import type { AuditEntry, AuditLog } from "../access/audit-log.ts";
import type { TenantsFile } from "../access/tenants-file.ts";
import { repeated } from "../flow/repeated.ts";
import { saidLately } from "../flow/said-lately.ts";
import type { Log } from "../log.ts";
import { TENANTS_FILE_EVERY_MS } from "../pipeline/limits.ts";
import { CannotStart } from "./cannot-start.ts";

export interface TenantsFileOptions {
  /** Where it is written down what was taken up, if at all. */
  audit: AuditLog | undefined;
  log: Log;
  now: () => number;
  /** Called with what holds from now on, at the start as well. */
  onChange(declared: Access): void;
}

/** What LAZARET_TENANTS_FILE declares, now and whenever it changes. Throws when it has mistakes at the start; later the state before holds. */
export async function startTenantsFile(path: string, options: TenantsFileOptions): Promise<Disposable> {
  const { audit, log, now, onChange } = options;
  // Loaded only when used, as is the parser.
  const { followTenantsFile, readTenantsFile } = await import("../access/tenants-file.ts");
  let unwritten: AuditEntry[] = [];

  function take({ access, digest }: Extract<TenantsFile, { kind: "read" }>): void {
    onChange(access);
    const counts = { tenants: access.tenants.length, keys: access.keys.length };
    log("tenants_file", counts);
    if (!audit) return;
    const act = { who: "service", tenant: "", what: "tenants-file.read", on: path, from: hostname() };
    unwritten.push({ at: now(), ...act, details: { ...counts, sha256: digest } });
  }

  /** In turn, and again later when the store is away: a key that the file takes away must not wait for that. */
  async function write(): Promise<void> {
    const [entry] = unwritten;
    if (!entry) return;
    await audit?.add(entry);
    unwritten = unwritten.filter((each) => each !== entry);
    return write();
  }

  const read = readTenantsFile(path);
  if (read.kind === "refused") {
    throw new CannotStart(
      `LAZARET_TENANTS_FILE has mistakes:\n${read.problems.map((each) => `  ${each}`).join("\n")}`,
      `mend ${path}; docs/tenants-file.md says what it may hold`,
    );
  }
  take(read);
  const said = saidLately();
  const onFailure = (error: Error): void => {
    if (!said(error.message)) log.error("audit", { error: error.message });
  };
  await write().catch(onFailure);
  using undo = new DisposableStack();
  undo.use(repeated(write, { everyMs: TENANTS_FILE_EVERY_MS, onFailure }));
  const following = followTenantsFile(path, read, {
    everyMs: TENANTS_FILE_EVERY_MS,
    onChange(changed) {
      if (changed.kind === "read") take(changed);
      else log.error("tenants_file", { error: changed.problems.join("; ") });
    },
  });
  undo.use(following);
  return undo.move();
}
