import type { ResultStore } from "../../deliver/result-store.ts";
import type { StoreParts } from "./sqlite/job-database.ts";
import { RESULT_MS } from "./sqlite/operations.ts";

export function sqliteResults({ database, now }: Omit<StoreParts, "alarm">): ResultStore {
  return {
    keep({ tenant, traceId, jobId }, report) {
      const expiresAt = now() + RESULT_MS;
      return database.run("keep", { trace: { tenant, traceId }, jobId, expiresAt, report: JSON.stringify(report) });
    },

    async find(trace) {
      const report = await database.run("find", { trace, now: now() });
      return report === undefined ? undefined : JSON.parse(report);
    },
  };
}
