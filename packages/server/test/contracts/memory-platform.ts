import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { RESULT_RETENTION_HOURS } from "@lazaret/contract";
import type { AccessStore, StoredKey, Tenant } from "../../src/access/access-store.ts";
import { AUDIT_KEPT_MS, type AuditEntry, type AuditLog } from "../../src/access/audit-log.ts";
import { type SharedCounts, SILENT_MS } from "../../src/access/shared-counts.ts";
import type { CallbackFailures, FailedCallback } from "../../src/deliver/callback-failures.ts";
import type { BusEvent } from "../../src/deliver/event-bus.ts";
import type { ResultStore } from "../../src/deliver/result-store.ts";
import * as signing from "../../src/deliver/signing-keys.ts";
import { alarm } from "../../src/flow/alarm.ts";
import type { Bookmarks, Reached } from "../../src/guard/bookmarks.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import type { Platform } from "../../src/platforms/platform.ts";
import { emailText } from "../../src/platforms/shared/finding-text.ts";
import { pageOf, placeIn } from "../../src/platforms/shared/page.ts";
import { bothUses, monthOf, noUse, type UsageMeter, type Use } from "../../src/scan/usage-meter.ts";
import { type KeptParts, type MemoryKept, memoryFindings, memoryHistory } from "./memory-kept.ts";
import {
  type KeptResult,
  type MemoryQueueParts,
  memoryBrowser,
  memoryDeadLetters,
  memoryQueue,
  traceName,
} from "./memory-queue.ts";
import type { ReceivedFinding } from "./outputs.ts";
import { queueModel } from "./queue-model.ts";

/** What all processes of an installation share. */
export function memoryStorage(clock: { now: number }) {
  return {
    model: queueModel({ clock }),
    results: new Map<string, KeptResult>(),
    scans: new Map<string, Map<string, Use>>(),
    failures: new Map<string, FailedCallback>(),
    access: { version: 0, keys: new Map<string, StoredKey>(), tenants: new Map<string, Tenant>() },
    audit: [] as AuditEntry[],
    counts: new Map<string, { at: number; content: string }>(),
    bookmarks: new Map<string, Reached>(),
    kept: { history: new Map(), findings: new Map() } as MemoryKept,
    topicFindings: [] as ReceivedFinding[],
    events: [] as BusEvent[],
    parameters: new Map<string, string>(),
    consoleSecret: randomBytes(32),
    privateKey: undefined as Promise<string> | undefined,
    bell: alarm(),
  };
}

interface MemoryParts extends MemoryQueueParts, KeptParts {
  storage: ReturnType<typeof memoryStorage>;
}

// #region platform
/** Everything in plain maps: lost at the end of the process, and good for tests. */
export function memoryPlatform(parts: MemoryParts, stackName: string): Platform {
  return {
    queue: memoryQueue(parts),
    deadLetters: memoryDeadLetters(parts),
    browser: memoryBrowser(parts),
    history: memoryHistory(parts),
    results: memoryResults(parts),
    findings: memoryFindings(parts),
    callbackFailures: memoryFailures(parts),
    usage: memoryUsage(parts),
    access: memoryAccess(parts),
    audit: memoryAudit(parts),
    sharedCounts: memoryCounts(parts),
    bookmarks: memoryBookmarks(parts),
    signingKeys: memoryKeys(parts, stackName),
    ...memoryOutputs(parts),
    consoleSecret: async () => parts.storage.consoleSecret,
    tenantId: "11111111-1111-8111-a111-111111111111",
    account: "000000000000",
    region: "memory",
    tryToWrite: async () => parts.write(),
    close: async () => parts.storage.bell.ring(),
  };
}
// #endregion

// #region adapter
function memoryUsage({ storage: { scans }, now, write }: MemoryParts): UsageMeter {
  return {
    async add(used) {
      write();
      for (const { tenant, key, ...use } of used) {
        const name = `${monthOf(now())} ${tenant}`;
        const keys = scans.get(name) ?? new Map<string, Use>();
        scans.set(name, keys.set(key, bothUses(keys.get(key) ?? noUse, use)));
      }
    },
    thisMonth: async (tenant) => scans.get(`${monthOf(now())} ${tenant}`) ?? new Map(),
  };
}
// #endregion

function memoryResults({ storage: { results }, now, write }: MemoryParts): ResultStore {
  return {
    async keep({ jobId, ...trace }, report) {
      write();
      const result = results.get(traceName(trace));
      if (result?.jobId !== jobId || result.report) return;
      results.set(traceName(trace), { jobId, report, until: now() + RESULT_RETENTION_HOURS * 3_600_000 });
    },
    async find(trace) {
      const { report, until = 0 } = results.get(traceName(trace)) ?? {};
      return until > now() ? report : undefined;
    },
  };
}

function memoryFailures({ storage: { failures }, now, write }: MemoryParts): CallbackFailures {
  return {
    async record(failure) {
      write();
      if (!failures.has(failure.id)) failures.set(failure.id, failure);
    },
    async list({ tenant, callbackUrl, cursor = String(Number.MAX_SAFE_INTEGER), limit }) {
      if (!/^\d{1,16}$/.test(cursor)) return undefined;
      const rows = [...failures.values()].map((failure, place) => ({ failure, place })).reverse();
      const wanted = rows.filter(
        ({ failure, place }) =>
          failure.tenant === tenant &&
          place < Number(cursor) &&
          failure.failedAt > now() - 30 * 86_400_000 &&
          (callbackUrl === undefined || failure.callbackUrl === callbackUrl),
      );
      const entryOf = ({ failure }: (typeof rows)[number]): FailedCallback => failure;
      const page = pageOf(wanted, { limit, entryOf, placeOf: ({ place }) => String(place) });
      return { failures: page.entries, next: page.next };
    },
  };
}

function memoryAccess({ storage: { access }, write }: MemoryParts): AccessStore {
  const { keys, tenants } = access;
  const changed = (is: boolean): boolean => {
    if (is) access.version += 1;
    return is;
  };
  return {
    version: async () => String(access.version),
    read: async () => ({
      keys: [...keys.values()],
      tenants: [...tenants.values()].sort((one, other) => (one.name < other.name ? -1 : 1)),
    }),
    async addKey(key) {
      write();
      return changed(!keys.has(key.id) && keys.set(key.id, key) === keys);
    },
    async endKey(id, at) {
      write();
      const key = keys.get(id);
      if (key) keys.set(id, { ...key, expiresAt: Math.min(at, key.expiresAt ?? at) });
      return changed(key !== undefined);
    },
    async removeKey(id) {
      write();
      return changed(keys.delete(id));
    },
    async putTenant(tenant, before) {
      write();
      const now = tenants.get(tenant.name);
      return changed(isDeepStrictEqual(now, before) && tenants.set(tenant.name, tenant) === tenants);
    },
    async removeTenant(name) {
      write();
      return changed(tenants.delete(name));
    },
    async used(at) {
      write();
      for (const [id, time] of at) {
        const key = keys.get(id);
        if (key) keys.set(id, { ...key, lastUsedAt: Math.max(time, key.lastUsedAt ?? 0) });
      }
    },
  };
}

function memoryAudit({ storage: { audit }, now, write }: MemoryParts): AuditLog {
  return {
    async add(entry) {
      write();
      audit.push(entry);
    },
    async list({ limit, since = 0, until = Number.MAX_SAFE_INTEGER, after }) {
      const before = after === undefined ? audit.length : placeIn(after);
      if (before === undefined) return undefined;
      const rows = audit.map((entry, place) => ({ entry, place })).reverse();
      const from = Math.max(since, now() - AUDIT_KEPT_MS + 1);
      const wanted = rows.filter(({ entry, place }) => place < before && entry.at >= from && entry.at < until);
      return pageOf(wanted, { limit, entryOf: ({ entry }) => entry, placeOf: ({ place }) => String(place) });
    },
  };
}

function memoryCounts({ storage: { counts }, now, write }: MemoryParts): SharedCounts {
  return {
    async exchange(process, content) {
      write();
      counts.set(process, { at: now(), content });
      const others = [...counts].filter(([name, { at }]) => name !== process && Math.abs(now() - at) <= SILENT_MS);
      return new Map(others.map(([name, said]) => [name, said.content]));
    },
  };
}

function memoryBookmarks({ storage: { bookmarks }, write }: MemoryParts): Bookmarks {
  return {
    of(bucket, filters) {
      const name = JSON.stringify([bucket, filters]);
      return {
        read: async () => bookmarks.get(name),
        async write(reached) {
          write();
          bookmarks.set(name, reached);
        },
        clear: async () => void bookmarks.delete(name),
      };
    },
  };
}

function memoryKeys({ storage }: MemoryParts, stackName: string): signing.SigningKeys {
  return {
    async load() {
      storage.privateKey ??= signing.makePrivatePem();
      const pair = signing.signingKeyPair(await storage.privateKey);
      for (const { name, value } of signing.publicKeyParameters(stackName, pair.publicKeys)) {
        storage.parameters.set(name, value);
      }
      return pair;
    },
    published: () => signing.readPublicKeys(stackName, async (name) => storage.parameters.get(name)),
  };
}

function memoryOutputs({ storage, write }: MemoryParts): Pick<Platform, "topic" | "eventBus"> {
  return {
    topic: {
      async publish({ message, attributes, body }) {
        write();
        const text = body === "json" ? JSON.stringify(message) : emailText(message);
        const values = Object.entries(attributes).map(([name, value]) => [name, String(value)]);
        storage.topicFindings.push({ text, attributes: Object.fromEntries(values) });
      },
    },
    eventBus: {
      async publish(event) {
        write();
        storage.events.push(event);
      },
      close: async () => {},
    },
  };
}

/** Stands for a disk that is full. */
export function refuseToWrite(): never {
  throw new QueueUnavailable("the memory takes no more");
}
