import type { CallbackFailures, FailedCallback } from "../../deliver/callback-failures.ts";
import type { StoreParts } from "./sqlite/job-database.ts";

export function sqliteCallbackFailures({ database, now }: Omit<StoreParts, "alarm">): CallbackFailures {
  return {
    record(failure) {
      const { tenant, id, failedAt, callbackUrl } = failure;
      return database.run("recordFailure", { tenant, id, failedAt, callbackUrl, content: JSON.stringify(failure) });
    },

    async list({ tenant, callbackUrl, cursor, limit }) {
      const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : /^\d{1,15}$/.test(cursor) ? Number(cursor) : 0;
      if (before === 0) return undefined;
      const wanted = {
        tenant,
        now: now(),
        before,
        limit: limit + 1,
        ...(callbackUrl !== undefined && { callbackUrl }),
      };
      const rows = await database.run("listFailures", wanted);
      const page = rows.slice(0, limit);
      const next = rows.length > limit ? String(page.at(-1)?.seq) : undefined;
      return { failures: page.map(({ content }): FailedCallback => JSON.parse(content)), next };
    },
  };
}
