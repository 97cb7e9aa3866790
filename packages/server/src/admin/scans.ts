import type { ObjectSchema } from "@lazaret/contract";
import { SYNC_MAX_FILE_BYTES, type SyncObjectRequest, syncObjectSchema, URL_MAX_CHARACTERS } from "@lazaret/contract";
import type { AdminScanResult } from "@lazaret/contract/admin";
import type { Report } from "../model/report.ts";
import { withoutQuery } from "../model/source.ts";
import { type Account, DEFAULT_TENANT } from "../model/tenant.ts";
import { statusOf } from "../model/verdict.ts";
import { checkBody, readJsonObject } from "../receive/body/json-body.ts";
import {
  type CheckDestination,
  type CheckObject,
  downloadsDisabled,
  objectSource,
  urlSource,
} from "../receive/body/submission.ts";
import { binaryUpload } from "../receive/body/upload.ts";
import type { Answer, ApiRequest } from "../receive/request-answer.ts";
import type { ConsoleCaller } from "../receive/route.ts";
import type { ScanNow } from "../receive/sync-routes.ts";

export interface ScanParts {
  /** By the same way, in the same line and with the same time as the synchronous API. */
  scanNow: ScanNow;
  checkDestination: CheckDestination;
  checkObject: CheckObject;
  /** False where files are not scanned by their URL. */
  downloads: boolean;
}

/** What is longer is cut off: it is a name for people, and may be a path. */
const LONGEST_NAME = 1024;

const urlSchema: ObjectSchema = {
  type: "object",
  required: ["url"],
  properties: {
    url: { type: "string", description: "Where the file is.", minLength: 1, maxLength: URL_MAX_CHARACTERS },
  },
};

/** No limits of its own: those of the synchronous API hold. */
const tenant = { name: DEFAULT_TENANT, weight: 1, limits: {} };

export async function scanUpload({ scanNow }: ScanParts, request: ApiRequest, caller: ConsoleCaller): Promise<Answer> {
  const name = request.query.get("name")?.slice(0, LONGEST_NAME) || undefined;
  const source = { ...binaryUpload(request), ...(name !== undefined && { name }) };
  await caller.record(name === undefined ? "an upload" : `an upload called ${name}`);
  return scanNow(request, { ...askedBy(caller), source });
}

export async function scanUrl(parts: ScanParts, request: ApiRequest, caller: ConsoleCaller): Promise<Answer> {
  if (!parts.downloads) throw downloadsDisabled();
  const { url } = checkBody<{ url: string }>(await readJsonObject(request), urlSchema);
  const source = urlSource({ download_url: url }, parts.checkDestination);
  await caller.record(withoutQuery(url));
  return parts.scanNow(request, { ...askedBy(caller), source });
}

export async function scanObject(parts: ScanParts, request: ApiRequest, caller: ConsoleCaller): Promise<Answer> {
  const body = checkBody<SyncObjectRequest>(await readJsonObject(request), syncObjectSchema);
  const source = objectSource(body, parts.checkObject, tenant);
  await caller.record(`${source.bucket}/${source.key}`);
  return parts.scanNow(request, { ...askedBy(caller), source });
}

function askedBy({ who }: ConsoleCaller): { account: Account; maxBytes: number } {
  return { account: { tenant: DEFAULT_TENANT, key: who }, maxBytes: SYNC_MAX_FILE_BYTES };
}

/** A report in the words of /admin/v1. */
export function renderScanResult(report: Report): AdminScanResult {
  const { verdict, sizeBytes, sha256, downloadSeconds, scanSeconds, failure } = report;
  const detail = verdict.kind === "unscannable" ? (verdict.detail ?? failure?.message) : undefined;
  return {
    verdict: statusOf(verdict),
    ...(verdict.kind !== "clean" && { finding: verdict.finding }),
    ...(detail !== undefined && { detail }),
    ...(verdict.kind === "infected" && verdict.member !== undefined && { member: verdict.member }),
    ...(verdict.fileType !== undefined && { type: verdict.fileType }),
    size: sizeBytes,
    ...(sha256 !== undefined && { sha256 }),
    ms: Math.round((downloadSeconds + scanSeconds) * 1000),
    ...(verdict.kind !== "unscannable" && verdict.cached && { cached: true }),
  };
}
