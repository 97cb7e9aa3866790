import { type CallbackFailures, FAILURES_KEPT_MS, type FailedCallback } from "../../deliver/callback-failures.ts";
import { DEFAULT_TENANT } from "../../model/tenant.ts";
import type { Attributes, Table } from "./table.ts";

const PARTITION = "callback-failures";
/** Where the time and the job's id are parted in a sort key; times sort as texts because all have the same length. */
const TIME_DIGITS = 15;

/** One partition for each tenant, by time: finally failed callbacks are rare. DynamoDB deletes what is over some time later. */
export function tableCallbackFailures(table: Table, now: () => number): CallbackFailures {
  return {
    async record(failure) {
      const { id, failedAt } = failure;
      // The id has an item of its own, so that the same job is recorded once, whenever that is.
      const expires_at = { N: String(Math.ceil((failedAt + FAILURES_KEPT_MS) / 1000)) };
      const first = await table.put(
        { pk: { S: `${PARTITION}#${id}` }, sk: { S: "recorded" }, failed_at: { N: String(failedAt) }, expires_at },
        { if: "attribute_not_exists(pk) OR failed_at = :at", values: { ":at": { N: String(failedAt) } } },
      );
      if (!first) return;
      const item = { ...keyOf(failure), content: { S: JSON.stringify(failure) }, expires_at };
      await table.put(item, { if: "attribute_not_exists(pk) OR attribute_exists(pk)" });
    },

    async list({ tenant, callbackUrl, cursor, limit }) {
      if (cursor !== undefined && !/^\d{15}#[\w-]{1,64}$/.test(cursor)) return undefined;
      const failures: { failure: FailedCallback; sk: string }[] = [];
      let after: Attributes | undefined;
      do {
        const page = await table.query({
          pk: partitionOf(tenant),
          newestFirst: true,
          consistent: true,
          ...(cursor !== undefined && { before: cursor }),
          ...(after && { after }),
        });
        for (const { sk, content } of page.items) {
          const failure = JSON.parse(content?.S ?? "{}") as FailedCallback;
          const wanted = callbackUrl === undefined || failure.callbackUrl === callbackUrl;
          if (wanted && failure.failedAt > now() - FAILURES_KEPT_MS) failures.push({ failure, sk: sk?.S ?? "" });
        }
        after = page.next;
      } while (after && failures.length <= limit);
      const page = failures.slice(0, limit);
      return {
        failures: page.map(({ failure }) => failure),
        next: failures.length > limit ? page.at(-1)?.sk : undefined,
      };
    },
  };
}

/** Of the default tenant it is what it was before there were others. An id of a job is no tenant. */
function partitionOf(tenant: string): string {
  return tenant === DEFAULT_TENANT ? PARTITION : `${PARTITION} of ${tenant}`;
}

function keyOf({ tenant, id, failedAt }: FailedCallback): Attributes {
  return { pk: { S: partitionOf(tenant) }, sk: { S: `${String(failedAt).padStart(TIME_DIGITS, "0")}#${id}` } };
}
