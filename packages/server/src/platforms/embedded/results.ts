import type { ResultStore } from "../../deliver/result-store.ts";
import type { StoreParts } from "./sqlite/job-database.ts";
import { RESULT_MS } from "./sqlite/operations.ts";

export function sqliteResults({ database, now }: Omit<StoreParts, "alarm">): ResultStore {
  return {
    keep({ traceId, jobId }, report) {
      const expiresAt = now() + RESULT_MS;
      return database.run("keep", { traceId, jobId, expiresAt, report: JSON.stringify(report) });
    },

    async find(traceId) {
      const report = await database.run("find", { traceId, now: now() });
      return report === undefined ? undefined : JSON.parse(report);
    },
  };
}
