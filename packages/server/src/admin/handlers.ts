import type { AdminActivity, AdminAuditEntry, AdminJob, AdminJobCounts, AdminPage } from "@lazaret/contract/admin";
import type { AuditLog } from "../access/audit-log.ts";
import type { Findings } from "../deliver/findings.ts";
import type { JobHistory } from "../queue/job-history.ts";
import type { JobQueue } from "../queue/job-queue.ts";
import type { AdminHandlers } from "../receive/console/endpoints.ts";
import { Problem } from "../receive/problem.ts";
import type { Answer, ApiRequest } from "../receive/request-answer.ts";
import type { Caller, ConsoleCaller } from "../receive/route.ts";
import type { Activity } from "./activity.ts";
import { choiceIn, invalidCursor, limitIn, present, storeCursorIn, timeIn } from "./asked.ts";
import type { Buckets } from "./buckets.ts";
import { type CallbackParts, callbackKeys, testCallback } from "./callbacks.ts";
import { countReceivers, exportLetters, listLetters } from "./dead-letter-list.ts";
import { deleteLetters, type LetterParts, redriveLetters } from "./dead-letter-orders.ts";
import { type EngineParts, selfTest, showEngines } from "./engines.ts";
import type { EventHub } from "./events.ts";
import { exported, sourceColumns, timeCell } from "./export.ts";
import { exportFindings, groupFindings, listFindings } from "./finding-list.ts";
import { type InstallationParts, showDoctor, showSettings, supportBundle } from "./installation.ts";
import { type JobActionParts, noSuchJob, rescan, sendCallbackAgain } from "./job-actions.ts";
import { jobDetail } from "./job-detail.ts";
import { filterIn, jobsFrom, listJobs, type Places } from "./job-list.ts";
import { type KeyParts, listKeys, makeKeyAsked, revokeKey } from "./keys.ts";
import { type ScanParts, scanObject, scanUpload, scanUrl } from "./scans.ts";

export interface AdminParts {
  jobs: JobActionParts;
  counts(): Promise<AdminJobCounts>;
  findings: Findings;
  letters: LetterParts;
  activity: Activity;
  hub: EventHub;
  scans: ScanParts;
  engines: EngineParts;
  buckets: Buckets;
  keys: KeyParts;
  callbacks: CallbackParts;
  installation: InstallationParts;
  audit: Pick<AuditLog, "list">;
}

const EXPORTED_AT_ONCE = 200;

const ok = (json: unknown): Answer => ({ status: 200, json });
const accepted = (json: unknown): Answer => ({ status: 202, json });
const ranges: readonly AdminActivity["range"][] = ["15m", "1h", "24h"];

/** What answers /admin/v1. Who may ask was checked before; whatever changes something is in the audit log before it does. */
export function adminHandlers(parts: AdminParts): AdminHandlers {
  const { jobs, letters } = parts;
  const { deadLetters, tasks } = letters;
  return {
    adminJobs: async ({ query }) => ok(await listJobs(jobs, query)),
    async adminJob(request) {
      const job = await jobDetail(jobs, partOf(request));
      if (!job) throw noSuchJob();
      return ok(job);
    },
    adminJobCounts: async () => ok(await parts.counts()),
    adminJobExport: async ({ query }) => exportJobs(jobs, query),
    adminSendCallback: async (request, caller) => {
      return accepted(await sendCallbackAgain(jobs, partOf(request), acting(caller)));
    },
    adminRescan: async (request, caller) => accepted(await rescan(jobs, partOf(request), acting(caller))),

    adminFindings: async ({ query, signal }) => ok(await listFindings(parts.findings, query, signal)),
    adminFindingGroups: async ({ query, signal }) => ok(await groupFindings(parts.findings, query, signal)),
    adminFindingExport: async ({ query }) => exportFindings(parts.findings, query),

    adminDeadLetters: async ({ query }) => ok(await listLetters(deadLetters, query)),
    adminReceivers: async () => ok(await countReceivers(deadLetters)),
    adminDeadLetterExport: async ({ query }) => exportLetters(deadLetters, query),
    adminRedrive: async (request, caller) => accepted(await redriveLetters(letters, request, acting(caller))),
    adminDeleteLetters: async (request, caller) => accepted(await deleteLetters(letters, request, acting(caller))),

    adminTasks: async () => ok({ entries: tasks.list() }),
    async adminTask(request) {
      const task = tasks.find(partOf(request));
      if (!task) throw noSuchTask();
      return ok(task);
    },
    async adminStopTask(request, caller) {
      const id = partOf(request);
      const task = tasks.find(id);
      if (!task) throw noSuchTask();
      await acting(caller).record(`${task.what} of ${task.on}`);
      return ok(tasks.stop(id));
    },

    async adminActivity({ query }) {
      const range = choiceIn(query, "range", ranges) ?? "15m";
      return ok(parts.activity.show(range, await parts.counts()));
    },
    adminEvents: async ({ headers, query, signal }, caller) => {
      const since = headers["last-event-id"] ?? query.get("last_event_id") ?? undefined;
      return { status: 200, events: parts.hub.listen(since, signal, acting(caller).ref) };
    },

    adminScanUpload: (request, caller) => scanUpload(parts.scans, request, acting(caller)),
    adminScanUrl: (request, caller) => scanUrl(parts.scans, request, acting(caller)),
    adminScanObject: (request, caller) => scanObject(parts.scans, request, acting(caller)),

    adminEngines: async () => ok(await showEngines(parts.engines)),
    async adminSelfTest(request, caller) {
      await acting(caller).record(parts.engines.name);
      return ok(await selfTest(parts.engines, request.signal));
    },
    adminBuckets: async () => ok(await parts.buckets.list()),
    adminScanBucket: async (request, caller) => accepted(await parts.buckets.scan(request, acting(caller))),

    adminKeys: async () => ok(await listKeys(parts.keys)),
    adminMakeKey: async (request, caller) => {
      return { status: 201, json: await makeKeyAsked(parts.keys, request, acting(caller)) };
    },
    adminRevokeKey: async (request, caller) => ok(await revokeKey(parts.keys, request, acting(caller))),
    adminCallbackKeys: async () => ok(callbackKeys(parts.callbacks)),
    adminCallbackTest: async (request, caller) => ok(await testCallback(parts.callbacks, request, acting(caller))),

    adminSettings: async () => ok(showSettings(parts.installation)),
    adminDoctor: async () => ok(await showDoctor(parts.installation)),
    adminSupportBundle: () => supportBundle(parts.installation),
    adminAudit: async ({ query }) => ok(await listAudit(parts.audit, query)),
  };
}

/** How many jobs there are of each state. */
export function jobCounts(
  queue: Pick<JobQueue, "counts">,
  history: Pick<JobHistory, "count">,
): () => Promise<AdminJobCounts> {
  return async () => {
    const [{ ready, leased, delayed, buried, oldestSeconds }, done] = await Promise.all([
      queue.counts(),
      history.count(),
    ]);
    const oldest = Math.round(oldestSeconds);
    return { queued: ready, under_way: leased, retrying: delayed, done, dead: buried, oldest_seconds: oldest };
  };
}

/** Routes of the console have such a caller. */
function acting({ console }: Caller): ConsoleCaller {
  if (!console) throw new Error("this is answered for callers of the console only");
  return console;
}

function partOf(request: ApiRequest): string {
  return request.params?.id ?? "";
}

function noSuchTask(): Problem {
  return new Problem(404, "not_found", {
    message: "there is no such task",
    hint: "tasks are known for an hour after their end, and until the process ends that runs them",
  });
}

function exportJobs(stores: JobActionParts, query: URLSearchParams): Answer {
  const filter = filterIn(query);
  return exported<AdminJob>(query, {
    name: "jobs",
    async read(after) {
      const places = after === undefined ? {} : (JSON.parse(after) as Places);
      const { entries, next } = await jobsFrom(stores, { filter, limit: EXPORTED_AT_ONCE, places });
      return { entries, ...(next && { next: JSON.stringify(next) }) };
    },
    columns: {
      id: ({ id }) => id,
      state: ({ state }) => state,
      submitted: ({ submitted_at }) => timeCell(submitted_at),
      finished: ({ finished_at }) => timeCell(finished_at),
      tenant: ({ tenant }) => tenant,
      key: ({ key }) => key,
      trace_id: ({ trace_id }) => trace_id,
      ...sourceColumns,
      verdict: ({ verdict }) => verdict,
      finding: ({ finding }) => finding,
      size: ({ size }) => size,
      type: ({ type }) => type,
      callback_url: ({ callback_url }) => callback_url,
      failed_callbacks: ({ failed_callbacks }) => failed_callbacks,
      reason: ({ reason }) => reason,
    },
  });
}

async function listAudit(audit: Pick<AuditLog, "list">, query: URLSearchParams): Promise<AdminPage<AdminAuditEntry>> {
  const span = present({
    since: timeIn(query, "since"),
    until: timeIn(query, "until"),
    after: storeCursorIn(query),
  });
  const page = await audit.list({ limit: limitIn(query), ...span });
  if (!page) throw invalidCursor();
  return { entries: page.entries.map(({ ...entry }) => entry), ...present({ next: page.next }) };
}
