import type { FailedError } from "@lazaret/contract";
import { withoutQuery } from "../model/source.ts";
import { badRequest } from "./problem.ts";
import type { Endpoint, Handle } from "./route.ts";

export interface FamilyHandlersOptions {
  /** A stable id: of the default tenant that of the installation, of others their name. */
  tenantIdOf(tenant: string): string;
  /** Files of a tenant in this calendar month: those that its limit counts, and those that were scanned. */
  usedThisMonth(tenant: string): Promise<{ accepted: number; files: number }>;
  /** Shown as the quota of a tenant without a limit of files per month; nothing is refused beyond it. */
  monthlyQuota: number;
  /** Callbacks of a tenant that finally failed, newest first. Undefined for a cursor that is none. */
  callbackFailures(options: {
    tenant: string;
    callbackUrl?: string;
    cursor?: string;
    limit: number;
  }): Promise<FailuresPage | undefined>;
}

interface FailuresPage {
  failures: readonly {
    id: string;
    /** Milliseconds since 1970. */
    failedAt: number;
    downloadUrl: string;
    callbackUrl: string;
    error: FailedError;
  }[];
  next: string | undefined;
}

const PAGE = 100;
const errors = { 401: ["invalid_api_key"], 503: ["queue_unavailable"] };

type FamilyEndpoint = "whoami" | "usage" | "callbackFailures";

/** Endpoints that only the other dialect has. */
export const familyEndpoints: Record<FamilyEndpoint, Endpoint> = {
  whoami: {
    doc: {
      group: "Other dialect",
      summary: "The tenant of the key",
      description: "JSON: `tenantId`.",
      success: { status: 200, description: "The id.", example: { tenantId: "3f1c9a52-7d44-4c8e-9d5e-0f6a3b1c2d4e" } },
      errors: { 401: ["invalid_api_key"] },
      example: 'curl -H "x-api-key: $LAZARET_API_KEY" $LAZARET_URL/v1/whoami',
    },
  },
  usage: {
    doc: {
      group: "Other dialect",
      summary: "What is left of this month's quota",
      description:
        "JSON: `credits` (what is left of the quota for this calendar month, UTC; at least 0) and `quota` (`limit`, `period`). For a tenant with a monthly limit on files, that limit is the quota, and files beyond it are refused; otherwise the quota is LAZARET_MONTHLY_QUOTA, and nothing is refused.",
      success: {
        status: 200,
        description: "The usage.",
        example: { credits: 999_958, quota: { limit: 1_000_000, period: "MONTH" } },
      },
      errors,
      example: 'curl -H "x-api-key: $LAZARET_API_KEY" $LAZARET_URL/v1/usage',
    },
  },
  callbackFailures: {
    doc: {
      group: "Other dialect",
      summary: "Callbacks that finally failed, in the last 30 days",
      description:
        "JSON: `failures`, newest first, each with `id`, `time`, `download_url`, `callback_url` (both without their queries) and `error_json` (a string that holds JSON), and `next_cursor` when there are more.",
      query: {
        callback_url: { description: "Only those for this URL; queries are ignored.", schema: { type: "string" } },
        cursor: { description: "`next_cursor` of the previous page.", schema: { type: "string" } },
      },
      success: {
        status: 200,
        description: "The failures.",
        example: {
          failures: [
            {
              id: "01JC8Z3Y6T2M",
              time: "2026-11-16T09:12:44.120Z",
              download_url: "https://files.example.com/report.pdf",
              callback_url: "https://app.example.com/scanned",
              error_json: "{…}",
            },
          ],
        },
      },
      errors: { ...errors, 400: ["invalid_request"] },
      example: 'curl -H "x-api-key: $LAZARET_API_KEY" $LAZARET_URL/v1/callback/failures',
    },
  },
};

export function familyHandlers(options: FamilyHandlersOptions): Record<FamilyEndpoint, Handle> {
  return {
    whoami: async (_, { account }) => ({ status: 200, json: { tenantId: options.tenantIdOf(account.tenant) } }),
    async usage(_, { account, tenant }) {
      const used = await options.usedThisMonth(account.tenant);
      const { filesPerMonth } = tenant.limits;
      const limit = filesPerMonth ?? options.monthlyQuota;
      const credits = Math.max(0, limit - (filesPerMonth === undefined ? used.files : used.accepted));
      return { status: 200, json: { credits, quota: { limit, period: "MONTH" } } };
    },
    async callbackFailures({ query }, { account: { tenant } }) {
      const [callbackUrl, cursor] = [query.get("callback_url"), query.get("cursor")];
      const page = await options.callbackFailures({
        tenant,
        limit: PAGE,
        ...(callbackUrl !== null && { callbackUrl: withoutQuery(callbackUrl) }),
        ...(cursor !== null && { cursor }),
      });
      if (!page)
        throw badRequest("invalid_request", "cursor is not one of ours", "use next_cursor of the previous page");
      const failures = page.failures.map(({ id, failedAt, downloadUrl, callbackUrl: url, error }) => ({
        id,
        time: new Date(failedAt).toISOString(),
        // Those that an older version kept have queries.
        download_url: downloadUrl && withoutQuery(downloadUrl),
        callback_url: url && withoutQuery(url),
        error_json: JSON.stringify(error),
      }));
      return { status: 200, json: { failures, ...(page.next !== undefined && { next_cursor: page.next }) } };
    },
  };
}
